/** Which variables each part of a workflow can name, so that a misspelt one is found before anything runs. */
import type { KnownVariables } from "../kit/expression.ts";

/** What `${map.…}` has in reduce and merge. */
export const MAP_FIELDS = ["total", "successful", "failed", "skipped", "results", "results_file"] as const;
/** What `${error.…}` has in a handler of a failure. */
export const ERROR_FIELDS = ["type", "message", "step", "exit_code", "stderr", "stdout"] as const;
/** What `${validation.…}` has when a validation is not content. */
export const VALIDATION_FIELDS = ["score", "missing"] as const;
/** What `${foreach.…}` has in each round. */
export const FOREACH_FIELDS = ["item", "index", "total"] as const;

/** Names that a capture cannot take. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  "item",
  "item_id",
  "index",
  "map",
  "setup",
  "env",
  "job_id",
  "error",
  "validation",
  "foreach",
]);

/** The names of a phase. Steps add what they capture. */
export type Known = Map<string, readonly string[] | "any">;

/** In setup: the environment, and what the command line gives with `--var`. */
export function inSetup(given: readonly string[]): Known {
  return new Map([["env", "any"], ["job_id", "any"], ...given.map((name) => [name, "any"] as const)]);
}

/** After setup: what it captured goes by its name, and as `${setup.x}`. */
export function afterSetup(setup: KnownVariables, given: readonly string[]): Known {
  const captured = [...setup.keys()].filter((name) => !RESERVED_NAMES.has(name) && !given.includes(name));
  return new Map(setup).set("setup", captured);
}

/** For each item. */
export function withItem(known: KnownVariables): Known {
  return new Map(known).set("item", "any").set("item_id", "any").set("index", "any");
}

/** In each round of a foreach. Where there is an item already, the element is `${foreach.item}`. */
export function inRound(known: KnownVariables): Known {
  const inner: Known = new Map(known).set("foreach", FOREACH_FIELDS);
  return inner.has("item") ? inner : inner.set("item", "any");
}

/** After the items. */
export function withResults(known: KnownVariables): Known {
  return new Map(known).set("map", MAP_FIELDS);
}

/** What was captured inside goes on to be known outside. */
export function takeOver(known: Known, inner: KnownVariables): void {
  for (const [name, fields] of inner) if (!RESERVED_NAMES.has(name)) known.set(name, fields);
}
