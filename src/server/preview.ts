/** Previews a bulk change: freezes its letters, counts the refusals, and shows sample letters. */

import type * as z from "zod";
import { type Engine, LETTER_PARTS, type LetterPart } from "../engine.ts";
import type { Letter } from "../item/letter.ts";
import { type Operation, REFUSAL } from "../item/operation.ts";
import { LETTER_STATES } from "../item/state.ts";
import { schemasFor } from "../redrive/amend.ts";
import { parseRate, planToJson } from "../redrive/plan.ts";
import { ReasonCounts } from "../redrive/preview.ts";
import { type Amend, type Amended, compileRecipe, type Recipe, recipeToJson } from "../redrive/recipe.ts";
import { requireHandler } from "../run/run-job.ts";
import { parseDuration } from "../std/duration.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { diffJson } from "../std/json-diff.ts";
import { titleToJson } from "../triage/title.ts";
import type { RequestContext } from "./context.ts";
import type { selectionRequest } from "./contract/operations.ts";
import { ACTIONS, heldUntil, holdSelection } from "./held-selection.ts";
import { requireRunnable } from "./operation-runner.ts";
import { RequestError } from "./problem.ts";
import { recipeOf } from "./routes/letters.ts";
import { isNarrowed, selectionOf } from "./selection.ts";

export type SelectionRequest = z.output<typeof selectionRequest>;

/** Validates the request before anything is written, creates the selection, and describes it. */
export async function previewSelection(
  context: RequestContext,
  request: SelectionRequest,
): Promise<JsonObject> {
  const { engine, author } = context;
  const { action, reason, force = false } = request;
  requireBounds(request);
  const { selection, job } = await selectionOf(engine, request.filter);
  if (job === null) throw unbounded("The filter needs a job or a queue.");
  requireFitting(request);
  if (action === "retry") {
    requireHandler(job);
    requireRunnable(context, job, Boolean(request.canary));
  }
  const recipe = await recipeFor(engine, request, job.id);
  const amend = recipe && (await compileRecipe(recipe));
  const held = await holdSelection(engine, {
    ...{ kind: ACTIONS[action], queue: job.id, author, force, selection },
    plan: planFor(request, recipe),
    asked: compact({ ...request.filter }) as JsonObject,
    ...compact({ reason }),
  });
  return { action, ...(await describe(engine, held, { request, amend })) };
}

/** An empty filter selects all letters only if the request says so explicitly. */
function requireBounds({ filter, all_of_queue: isAll }: SelectionRequest): void {
  if (isNarrowed(filter) && isAll)
    throw new RequestError("request_invalid", "all_of_queue cannot be combined with other conditions.");
  if (!isNarrowed(filter) && !isAll)
    throw unbounded("The filter has no condition. To select every letter of the queue, set all_of_queue.");
}

function unbounded(message: string): RequestError {
  return new RequestError("selection_unbounded", message, { field: "body.filter" });
}

const OPTIONS_OF: Readonly<Record<SelectionRequest["action"], readonly (keyof SelectionRequest)[]>> = {
  retry: ["force", "canary", "rate", "delay", "priority", "reason"],
  requeue: ["force", "priority", "edit", "reason"],
  edit: ["edit", "note", "reason"],
  discard: ["reason"],
  restore: ["reason"],
  purge: ["reason"],
  clear: ["reason"],
};

/** Rejects options that the action would ignore. */
function requireFitting(request: SelectionRequest): void {
  const { action } = request;
  const allowed = ["action", "filter", "all_of_queue", ...OPTIONS_OF[action]];
  const other = Object.entries(request).find(([key, value]) => value !== undefined && !allowed.includes(key));
  if (other !== undefined)
    throw new RequestError("request_invalid", `${other[0]} has no effect on the action ${action}.`, {
      field: `body.${other[0]}`,
    });
  if (action === "discard" && request.reason === undefined)
    throw new RequestError("request_invalid", "A discard needs a reason.", { field: "body.reason" });
  if (action === "edit" && request.edit === undefined)
    throw new RequestError("request_invalid", "An edit needs a change.", { field: "body.edit" });
}

async function recipeFor(
  engine: Engine,
  { action, edit }: SelectionRequest,
  queue: string,
): Promise<Recipe | undefined> {
  if (action !== "edit" && action !== "requeue") return undefined;
  const schemas = await schemasFor(engine, queue);
  return { ...(edit && recipeOf(edit)), schemas };
}

function planFor(request: SelectionRequest, recipe: Recipe | undefined): JsonObject {
  const { action, canary, rate, delay, priority, note } = request;
  if (recipe !== undefined) return compact({ ...recipeToJson(recipe), note, priority });
  if (action === "purge" || action === "clear") return { archive: true };
  if (action !== "retry") return {};
  return planToJson({
    ...compact({ canary, priority }),
    ...(rate !== undefined && { rate: parseRate(rate, "rate") }),
    ...(delay !== undefined && { delayMs: parseDuration(delay, "delay") }),
  });
}

const SAMPLES_MAX = 5;
const PAGE_MAX = 500;

/** Reads every selected letter once, for the groups, the refusals and the samples. */
async function describe(
  engine: Engine,
  held: Operation,
  { request, amend }: { readonly request: SelectionRequest; readonly amend: Amend | undefined },
): Promise<JsonObject> {
  const reasons = new ReasonCounts();
  const groups = new Map<string, { readonly pattern: string; readonly count: number }>();
  const samples: JsonObject[] = [];
  let refused = 0;
  const parts = amend === undefined ? (["record", "last_failure"] as const) : LETTER_PARTS;
  for await (const letter of heldLetters(engine, held, parts)) {
    const { errorSignature: signature, errorPattern: pattern } = letter;
    groups.set(signature, { pattern, count: (groups.get(signature)?.count ?? 0) + 1 });
    const amended = amend?.(letter);
    const why = amended?.ok === false ? amended.reason : whyRefused(request.action, held, letter);
    if (why !== undefined) {
      refused += 1;
      reasons.add(why);
    }
    if (samples.length < SAMPLES_MAX) samples.push(sampleOf(letter, amended));
  }
  const byCount = [...groups].sort(([, a], [, b]) => b.count - a.count);
  return {
    selection_id: held.id,
    job_id: held.queue,
    count: held.selected,
    refused,
    refusals: reasons.list().map((refusal) => ({ ...refusal })),
    groups: byCount.map(([signature, group]) => ({ signature, ...titleToJson(group.pattern), ...group })),
    samples,
    expires_at: heldUntil(held),
  };
}

function whyRefused(
  action: SelectionRequest["action"],
  { force }: Operation,
  letter: Letter,
): string | undefined {
  if (action !== "retry" || force) return undefined;
  return letter.reprocessEligible && letter.poison !== true ? undefined : REFUSAL.ineligible;
}

function sampleOf(letter: Letter, amended: Amended | undefined): JsonObject {
  const changes = amended?.ok ? diffJson(letter.itemData, amended.data) : undefined;
  return compact({
    item_id: letter.itemId,
    error_signature: letter.errorSignature,
    error_message: letter.failureHistory.at(-1)?.errorMessage ?? "",
    changes: changes?.map((change) => ({ ...change })),
  }) as JsonObject;
}

/** Leaves out letters that have changed in the meantime; starting the selection reports them. */
async function* heldLetters(
  engine: Engine,
  { id, queue }: Operation,
  parts: readonly LetterPart[],
): AsyncGenerator<Letter> {
  let after = 0;
  for (;;) {
    const page = await engine.listSelected(id, { after, limit: PAGE_MAX });
    const last = page.at(-1);
    if (last === undefined) return;
    const itemIds = page.map(({ itemId }) => itemId);
    const query = { queue, itemIds, states: LETTER_STATES, limit: PAGE_MAX, counted: false };
    yield* (await engine.listLetters({ ...query, order: "oldest", parts })).letters;
    after = last.letterSequence;
  }
}
