export function greet(name) {
  var text = "hello " + name;
  return text;
}
