/** Finds exactly one item by its id, its data or a prefix of its id; otherwise throws an error that lists the candidates. */
import type { Engine, StoredLetter } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { contentId } from "../intake/identity.ts";
import { type Attempt, attemptToJson, type Item, type Progress } from "../item/item.ts";
import type { LetterNote } from "../item/letter.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { requireJob } from "./find-job.ts";
import { backoffToText } from "./queue-spec.ts";

const CANDIDATES_MAX = 6;

/** Finds one item. If several match, those for which `isMeant` is true take precedence, such as letters. */
export async function requireItem(
  engine: Engine,
  name: string,
  queue?: string,
  isMeant: (item: Item) => boolean = () => true,
): Promise<Item> {
  const fitting = await fittingItems(engine, name, queue);
  const meant = fitting.filter(isMeant);
  const candidates = meant.length > 0 ? meant : fitting;
  const [only] = candidates;
  if (only === undefined) {
    const where = queue === undefined ? "" : ` in ${queue}`;
    throw new RedriveError("item_not_found", `There is no item ${name}${where}.`, {
      hint: "Give the item's id, a unique prefix of it, or its data. To list letters: redrive dlq list. To list items: redrive queue items QUEUE",
    });
  }
  if (candidates.length > 1) {
    const names = candidates.slice(0, CANDIDATES_MAX - 1).map((item) => `${item.itemId} (${item.queue})`);
    const cut = candidates.length === CANDIDATES_MAX ? ", …" : "";
    throw new RedriveError("ambiguous", `${name} matches several items: ${names.join(", ")}${cut}.`, {
      hint: howToChoose(candidates),
    });
  }
  return only;
}

/** Returns items with this exact id, else items with this data, else items whose id starts with the name. */
async function fittingItems(engine: Engine, name: string, queue?: string): Promise<readonly Item[]> {
  const find = (id: string) =>
    engine.findItems(id, { limit: CANDIDATES_MAX, ...(queue !== undefined && { queue }) });
  const found = await find(name);
  const exact = found.filter((item) => item.itemId === name);
  if (exact.length > 0) return exact;
  const id = contentId(name);
  const named = (await find(id)).filter((item) => item.itemId === id);
  if (named.length > 0) return named;
  return name === "" ? [] : found; // an empty name is usually an unset variable and would match every id
}

/** Suggests only options that distinguish the candidates. */
function howToChoose(candidates: readonly Item[]): string {
  const isOneQueue = candidates.every((item) => item.queue === candidates[0]?.queue);
  const isOneId = candidates.every((item) => item.itemId === candidates[0]?.itemId);
  if (isOneQueue) return "Give a longer prefix of the id.";
  return isOneId ? "Give the job with --job." : "Give a longer prefix of the id, or the job with --job.";
}

/** Finds a letter like `requireItem`; items that are not done take precedence. */
export async function requireLetter(
  engine: Engine,
  itemName: string,
  jobName?: string,
): Promise<StoredLetter> {
  const queue = jobName === undefined ? undefined : (await requireJob(engine, jobName)).id;
  const item = await requireItem(engine, itemName, queue, (one) => one.state !== "done");
  const letter = await engine.readLetter(item.ref);
  if (letter !== null) return letter;
  throw new RedriveError("item_not_found", `Item ${item.itemId} is not a letter: it is ${item.state}.`, {
    hint: `Show its output: redrive logs ${item.queue} ${item.itemId}`,
  });
}

export function itemToJson(item: Item): JsonObject {
  return compact({
    item_id: item.itemId,
    queue: item.queue,
    name: item.name,
    state: item.state,
    priority: item.priority,
    due_at: toRfc3339(item.dueAt),
    expires_at: item.expiresAt === undefined ? undefined : toRfc3339(item.expiresAt),
    ordering_key: item.orderingKey,
    retries: item.retries,
    backoff: item.backoff && backoffToText(item.backoff),
    context: item.context,
    progress: item.progress && progressToJson(item.progress),
    attempts: item.attempts,
    revision: item.revision,
    redrive_count: item.redriveCount,
    requeued_from: item.requeuedFrom,
    requeued_as: item.requeuedAs,
    data: item.data,
  }) as JsonObject;
}

export interface ItemView {
  readonly item: Item;
  readonly attempts: readonly Attempt[];
  readonly notes: readonly LetterNote[];
}

export async function readItemView(engine: Engine, item: Item): Promise<ItemView> {
  return { item, attempts: await engine.listAttempts(item.ref), notes: await engine.listNotes(item.ref) };
}

export function itemViewToJson({ item, attempts, notes }: ItemView): JsonObject {
  return {
    ...itemToJson(item),
    result: resultOf(attempts) ?? null,
    attempt_history: attempts.map(attemptToJson),
    notes: notes.map(({ at, author, text }) => ({ at: toRfc3339(at), author, text })),
  };
}

export function resultOf(attempts: readonly Attempt[]): Attempt["result"] {
  return attempts.findLast(({ outcome }) => outcome === "succeeded")?.result;
}

function progressToJson({ attempt, at, value }: Progress): JsonObject {
  return { attempt_number: attempt, at: toRfc3339(at), value };
}
