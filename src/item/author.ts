/**
 * Who made a change, and through which interface. The interface is part of the stored author, so that every
 * change records both.
 */

/** The interfaces through which changes are made. */
export const WAYS = ["cli", "api", "library", "mcp", "console"] as const;
export type Way = (typeof WAYS)[number];

/**
 * Formats the author as it is stored with changes: `olga via api`. Authors of command-line changes have no
 * suffix.
 */
export function authorText(name: string, via: Exclude<Way, "cli">): string {
  return `${name} via ${via}`;
}

/** Splits a stored author into the name and the interface. */
export function parseAuthor(author: string): { readonly name: string; readonly via: Way } {
  const [, name, way] = /^(.*) via (\w+)$/s.exec(author) ?? [];
  const via = WAYS.find((one) => one === way);
  return name === undefined || via === undefined ? { name: author, via: "cli" } : { name, via };
}
