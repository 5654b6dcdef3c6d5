/** Who made a change, and by which way. The way is part of the stored author, so that every change carries both. */

/** The ways by which changes are made. */
export const WAYS = ["cli", "api", "library", "mcp", "console"] as const;
export type Way = (typeof WAYS)[number];

/** The author as it is stored with changes: `olga via api`. Authors of the command line have no suffix. */
export function authorText(name: string, via: Exclude<Way, "cli">): string {
  return `${name} via ${via}`;
}

/** Splits a stored author into the name and the way. */
export function parseAuthor(author: string): { readonly name: string; readonly via: Way } {
  const [, name, way] = /^(.*) via (\w+)$/s.exec(author) ?? [];
  const via = WAYS.find((one) => one === way);
  return name === undefined || via === undefined ? { name: author, via: "cli" } : { name, via };
}
