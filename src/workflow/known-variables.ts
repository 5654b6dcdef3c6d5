/** Which variables each part of a workflow can name, so that a misspelt one is found before anything runs. */
import type { KnownVariables } from "./expression.ts";

/** What `${map.…}` has in reduce and merge. */
export const MAP_FIELDS = ["total", "successful", "failed", "results", "results_file"] as const;

/** Names that a capture cannot take. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  "item",
  "item_id",
  "index",
  "map",
  "setup",
  "env",
  "error",
  "validation",
]);

/** The names of a phase. Steps add what they capture. */
export type Known = Map<string, readonly string[] | "any">;

/** In setup: the environment, and what the command line gives with `--var`. */
export function inSetup(given: readonly string[]): Known {
  return new Map([["env", "any"], ...given.map((name) => [name, "any"] as const)]);
}

/** After setup: what it captured is `${setup.x}`. */
export function afterSetup(given: readonly string[], captured: readonly string[]): Known {
  return inSetup(given).set("setup", captured);
}

/** For each item. */
export function withItem(known: KnownVariables): Known {
  return new Map(known).set("item", "any").set("item_id", "any").set("index", "any");
}

/** After the items. */
export function withResults(known: KnownVariables): Known {
  return new Map(known).set("map", MAP_FIELDS);
}
