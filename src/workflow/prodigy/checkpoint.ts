/**
 * Reads checkpoints of Prodigy. A sequential workflow continues at its next step; a map phase continues with
 * the items that are pending, were running or have failed. Completed work is not repeated.
 */
import { RedriveError } from "../../errors.ts";
import { isJsonObject, type Json, type JsonObject, parseJson } from "../../std/json.ts";
import { tryTo } from "../../std/try-to.ts";
import type { FixedItem, Workflow } from "../model.ts";
import { RESERVED_NAMES } from "../step-variables.ts";

export type Checkpoint =
  | { readonly kind: "steps"; readonly next: number; readonly variables: Readonly<Record<string, Json>> }
  | { readonly kind: "items"; readonly items: readonly FixedItem[] };

export function readProdigyCheckpoint(text: string, file: string): Checkpoint {
  const found = tryTo(() => parseJson(text));
  const checkpoint = isJsonObject(found) ? (itemsIn(found) ?? stepsIn(found)) : undefined;
  if (checkpoint !== undefined) return checkpoint;
  throw new RedriveError("input_invalid", `${file} is not a checkpoint of Prodigy.`, {
    hint: "Name a file in ~/.prodigy/state or ~/.prodigy/sessions.",
  });
}

/**
 * `starts` maps the step numbers of the file to those of the rewritten workflow, which may have more steps.
 */
export function continueFrom(
  workflow: Workflow,
  checkpoint: Checkpoint,
  starts: readonly number[] | undefined,
): Workflow {
  const { map } = workflow;
  const isSequence = map.isSequential === true;
  if (isSequence !== (checkpoint.kind === "steps"))
    throw unfitting(isSequence ? "the checkpoint has items" : "the checkpoint has steps, and no items");
  if (checkpoint.kind === "items") {
    const { jsonPath: _1, filter: _2, distinct: _3, maxItems: _4, ...rest } = map;
    return { ...workflow, map: { ...rest, offset: 0, sortBy: [], input: { items: checkpoint.items } } };
  }
  const { next, variables } = checkpoint;
  const step = next === 0 ? 0 : (starts?.[next] ?? (starts === undefined ? next : map.steps.length));
  if (step >= map.steps.length)
    throw unfitting(
      `the workflow has ${starts === undefined ? map.steps.length : starts.length - 1} steps, and ${next} are done`,
    );
  return { ...workflow, map: { ...map, startAt: { step, variables } } };
}

function unfitting(why: string): RedriveError {
  return new RedriveError("usage", `The checkpoint does not match the workflow: ${why}.`, {
    hint: "Give the workflow file of the interrupted run.",
  });
}

function stepsIn(found: JsonObject): Checkpoint | undefined {
  const { execution_state: state, workflow_data: session } = found;
  const [from, key] = isJsonObject(state) ? [state, "current_step_index"] : [session, "current_step"];
  if (!isJsonObject(from) || typeof from[key] !== "number") return undefined;
  const values = isJsonObject(state) ? found.variable_state : from.variables;
  return { kind: "steps", next: from[key], variables: variablesIn(isJsonObject(values) ? values : {}) };
}

/**
 * Keeps only captures, because other variables are set again in each run. `shell.output` is a field of
 * `shell`.
 */
function variablesIn(values: JsonObject): Record<string, Json> {
  const own = Object.entries(values).filter(
    ([name]) => /^[A-Za-z_]\w*$/.test(name) && !RESERVED_NAMES.has(name),
  );
  const outputs = ["shell", "claude"].flatMap((name): [string, Json][] => {
    const output = values[`${name}.output`];
    return output === undefined
      ? []
      : [[name, { output, exit_code: 0, success: true, stderr: "", duration: 0 }]];
  });
  return Object.fromEntries([...own, ...outputs]);
}

function itemsIn(found: JsonObject): Checkpoint | undefined {
  const state = found.work_item_state ?? found.work_items;
  if (isJsonObject(state)) {
    const { in_progress_items: running = state.in_progress } = state;
    const lists = [
      state.pending_items ?? state.pending,
      isJsonObject(running) ? Object.values(running) : running,
      state.failed_items ?? state.failed,
    ];
    const entries = lists.flatMap((list) => (Array.isArray(list) ? (list as readonly Json[]) : []));
    const items = entries.flatMap(itemOf);
    if (items.length === entries.length) return { kind: "items", items };
    const missing = entries.length - items.length;
    throw new RedriveError(
      "input_invalid",
      `The checkpoint names items without their data: ${missing} of ${entries.length}.`,
      {
        hint: "Run the workflow without --checkpoint. Completed work is then repeated.",
      },
    );
  }
  return Array.isArray(state) ? itemsOfJob(found, state as readonly Json[]) : undefined;
}

/** An item may be nested in a record of its progress or its failure. */
function itemOf(entry: Json): readonly FixedItem[] {
  if (!isJsonObject(entry)) return [];
  const { work_item: inner = entry } = entry;
  const { id, data } = isJsonObject(inner) ? inner : {};
  return typeof id === "string" && data !== undefined ? [{ id, data }] : [];
}

/** The oldest format contains the data of all items, and refers to items by number: `item_3`. */
function itemsOfJob(
  { pending_items: pending, failed_agents: failed }: JsonObject,
  all: readonly Json[],
): Checkpoint {
  const ids = [
    ...(Array.isArray(pending) ? pending : []),
    ...(isJsonObject(failed) ? Object.keys(failed) : []),
  ];
  const items = [...new Set(ids.map(String))].flatMap((id): FixedItem[] => {
    const data = all[Number(/_(\d+)$/.exec(id)?.[1] ?? Number.NaN)];
    return data === undefined ? [] : [{ id, data }];
  });
  return { kind: "items", items };
}
