/**
 * Records which step of a sequential workflow is next. The record is stored with the worktree in which the
 * steps run, so that it disappears together with the worktree and never refers to a step whose work is
 * missing.
 */
import { existsSync, readFileSync } from "node:fs";
import { writeAtomically } from "../std/files.ts";
import { isJsonObject, type Json, parseJson, stringifyJson } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";
import type { MapPhase } from "../workflow/model.ts";

export interface StepCheckpoint {
  readonly itemId: string;
  /** The index of the next step to run. */
  readonly next: number;
  /** Variables captured by earlier steps, without secrets. */
  readonly captured: Readonly<Record<string, Json>>;
}

/** Returns the checkpoint of the item. Without one, the next step is the first, or the workflow's `startAt`. */
export function readCheckpoint(
  path: string,
  itemId: string,
  { step = 0, variables = {} }: Partial<NonNullable<MapPhase["startAt"]>> = {},
): StepCheckpoint {
  const found = existsSync(path) ? tryTo(() => parseJson(readFileSync(path, "utf8"))) : undefined;
  const beginning = { itemId, next: step, captured: variables };
  if (!isJsonObject(found) || found.itemId !== itemId || typeof found.next !== "number") return beginning;
  return { itemId, next: found.next, captured: isJsonObject(found.captured) ? found.captured : {} };
}

/** Returns after the record is on disk. */
export function writeCheckpoint(path: string, { itemId, next, captured }: StepCheckpoint): Promise<void> {
  return writeAtomically(path, stringifyJson({ itemId, next, captured: { ...captured } }));
}

const RESULT_BYTES_MAX = 256 * 1024;

/** Returns the variables that later steps need after a restart. Large step outputs are dropped; captures are kept. */
export function variablesToKeep(
  before: ReadonlySet<string>,
  variables: Readonly<Record<string, Json>>,
): Record<string, Json> {
  const own = Object.entries(variables).filter(
    ([name, value]) =>
      !before.has(name) && (!RESULTS.has(name) || stringifyJson(value).length <= RESULT_BYTES_MAX),
  );
  return Object.fromEntries(own);
}

const RESULTS: ReadonlySet<string> = new Set(["shell", "claude", "last", "step", "steps"]);
