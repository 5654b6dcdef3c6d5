/** Which queues a rule is about: names with `*` for anything, and `!` before those that are left out. */

/** Whether one of the queue's names fits. No patterns, or none but those that leave out, are about all the others. */
export function matchesQueue(patterns: readonly string[], names: readonly string[]): boolean {
  const wanted = patterns.filter((pattern) => !pattern.startsWith("!"));
  const unwanted = patterns.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1));
  const fits = (pattern: string) => names.some((name) => fitsName(pattern, name));
  return (wanted.length === 0 || wanted.some(fits)) && !unwanted.some(fits);
}

/** Each part between two stars is found at its first place after the one before, so that nothing is tried twice. */
function fitsName(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}
