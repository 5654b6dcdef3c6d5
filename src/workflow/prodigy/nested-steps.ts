/** Rewrites steps that are nested in a step. */
import * as yaml from "../../yaml/edit-yaml.ts";
import type { Rewriting } from "./rewriting.ts";

/** Rewrites the steps under a key. A single step stays a mapping if it needs no list. */
export function nested(map: yaml.YAMLMap, key: string, rewriting: Rewriting): void {
  const pair = map.items.find((one) => yaml.isScalar(one.key) && one.key.value === key);
  if (pair) nestedPair(pair, rewriting);
}

export function nestedPair(pair: { value: unknown }, rewriting: Rewriting): void {
  const node = pair.value as yaml.Node | undefined | null;
  if (node === undefined || node === null || (yaml.isScalar(node) && typeof node.value !== "string")) return;
  const isList = yaml.isSeq(node);
  const list = rewriting.rewriteSteps(node);
  if (list !== undefined) pair.value = !isList && list.items.length === 1 ? list.items[0] : list;
}
