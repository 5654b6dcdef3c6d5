export function isNothing(value) {
  var nothing = null;
  return value == nothing;
}
