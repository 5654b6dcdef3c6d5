/** What every command that changes many letters does around its work: find which are meant, preview, ask, and answer. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { leftOf, type Operation, type OperationKind, STATES_OF_KIND } from "../item/operation.ts";
import type { JsonObject } from "../kit/json.ts";
import type { Selection } from "../redrive/select.ts";
import { selectionFor, stateWord } from "../redrive/selection-for.ts";
import { EXIT } from "./exit-code.ts";
import { checkSelection, resolveBulk, type SelectionFlags } from "./selection.ts";

export interface BulkFlags extends SelectionFlags {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** A command's words: where a job may stand, and the items. */
export interface BulkWords {
  readonly job?: string | undefined;
  readonly items?: readonly string[];
  readonly flags: BulkFlags;
}

/** The letters of one job that are meant. */
export interface Meant {
  readonly job: Job;
  readonly selection: Selection;
}

/** Null when nobody was named and there is nothing at all. A named item in another state is refused: exit code 5. */
export async function findMeant(
  engine: Engine,
  kind: OperationKind,
  words: BulkWords,
): Promise<Meant | null> {
  const { items, flags, job: word } = words;
  const isNamed = (items ?? []).length > 0 || (word ?? flags.job ?? flags.queue) !== undefined;
  selectionFor(kind, checkSelection(flags)); // words that make no sense are refused, whatever there is
  const states = kind === "restore" || kind === "clear" ? { states: STATES_OF_KIND[kind] } : {};
  try {
    const { job, selection } = await resolveBulk(engine, { job: word, items, flags, ...states });
    const meant = { job, selection: selectionFor(kind, selection) };
    await refuseOtherStates(engine, kind, meant);
    return meant;
  } catch (error) {
    if (!isNamed && error instanceof WorkError && error.code === "item_not_found") return null;
    throw error;
  }
}

/** Who names an item means that item; that it is passed over in silence would be a surprise. */
export async function refuseOtherStates(
  engine: Engine,
  kind: OperationKind,
  { job, selection }: Meant,
): Promise<void> {
  const { itemIds = [], states = [] } = selection.filter;
  for (const itemId of itemIds) {
    const { total } = await engine.listLetters({ queue: job.id, itemIds: [itemId], states, limit: 0 });
    if (total > 0) continue;
    const found = await engine.findItems(itemId, { queue: job.id, limit: SAME_BEGINNING_MAX });
    const state = found.find((item) => item.itemId === itemId)?.state;
    throw new WorkError(
      "illegal_move",
      `${itemId} is ${state === undefined ? "gone" : stateWord(state)}; ${kind} needs a letter that is ${states.map(stateWord).join(" or ")}.`,
      { hint: "Nothing was done. `redrive dlq inspect` shows how it stands." },
    );
  }
}

const SAME_BEGINNING_MAX = 10;

/** The books of something that was not done: a dry run, or nothing to do. */
export function emptyBooks(kind: OperationKind, jobId: string | null, more: JsonObject = {}): JsonObject {
  return {
    operation_id: null,
    kind,
    job_id: jobId,
    selected: 0,
    done: 0,
    redriven: 0,
    refused: 0,
    succeeded: 0,
    failed: 0,
    remaining: 0,
    ...more,
  };
}

/** 3 when letters were refused or are left. */
export function bulkExitCode(operation: Operation): number {
  return operation.refused + leftOf(operation) > 0 ? EXIT.lettersLeft : EXIT.done;
}
