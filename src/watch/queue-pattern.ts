/** Which queues a rule is about: names with `*` for anything, and `!` before those that are left out. */

/** Whether one of the queue's names fits. No patterns, or none but those that leave out, are about all the others. */
export function matchesQueue(patterns: readonly string[], names: readonly string[]): boolean {
  const wanted = patterns.filter((pattern) => !pattern.startsWith("!"));
  const unwanted = patterns.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1));
  const fits = (pattern: string) => names.some((name) => expressionOf(pattern).test(name));
  return (wanted.length === 0 || wanted.some(fits)) && !unwanted.some(fits);
}

function expressionOf(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}
