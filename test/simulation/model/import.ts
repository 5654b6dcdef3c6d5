/** Imported letters: unknown ones are added, shorter ones are extended, the others are kept. */
import type { ImportReport } from "../../../src/engine.ts";
import { importedFailures } from "../../../src/item/event.ts";
import {
  type ImportedLetter,
  importedLetter,
  lastMessageOf,
  releasedElsewhere,
} from "../../../src/item/imported-letter.ts";
import type { Letter, Resolution } from "../../../src/item/letter.ts";
import { buryRow, closeLetter } from "./bury.ts";
import { groupFor } from "./corrections.ts";
import { record } from "./events.ts";
import { countBurial, knowGroup } from "./group-records.ts";
import { newRow } from "./intake.ts";
import { frozenCopy, type Queue, type Row, requireQueue, type Store } from "./store.ts";

/** Letters are imported one after the other: the second of the same item finds the first. */
export function importLetters(store: Store, queueName: string, letters: readonly Letter[]): ImportReport {
  const queue = requireQueue(store, queueName);
  const report = { imported: 0, extended: 0, existing: 0 };
  const taken = letters.map((letter) => ({ letter, given: importedLetter(letter) }));
  for (const { letter, given } of taken) {
    const fate = takeIn(store, queue, letter, given);
    report[fate] += 1;
  }
  if (report.imported + report.extended > 0)
    record(store, { type: "dlq_items_imported", queue: queueName, data: { ...report } });
  return report;
}

function takeIn(store: Store, queue: Queue, letter: Letter, given: ImportedLetter): keyof ImportReport {
  const known = queue.byId.get(letter.itemId);
  if (!known) {
    const row = newRow(store, queue, { itemId: letter.itemId, data: letter.itemData });
    fill(store, row, letter, given);
    return "imported";
  }
  if (known.purged) {
    queue.counts[known.state] -= 1;
    fill(store, known, letter, given);
    return "imported";
  }
  if (known.state !== "dead" || known.started >= given.attempts.length) return "existing";
  addAttempts(store, known, given);
  buryIn(store, known, given);
  return "extended";
}

/** Gives an empty row all data of the letter. */
function fill(store: Store, row: Row, letter: Letter, given: ImportedLetter): void {
  row.purged = false;
  row.attemptsCounted = 0;
  row.lostCount = 0;
  row.data = frozenCopy(letter.itemData);
  row.revision = given.revision;
  row.redriveCount = letter.redriveCount;
  row.amendments = given.amendments.map(frozenCopy);
  row.notes = (letter.notes ?? []).map(frozenCopy);
  row.lateResults.push(...(letter.lateResults ?? []).map(frozenCopy));
  row.state = given.state;
  row.dueAt = store.now;
  row.queue.counts[given.state] += 1;
  addAttempts(store, row, given);
  buryIn(store, row, given, letter.resolution);
}

/** One that is imported as resolved is no new failure of its group. */
function buryIn(store: Store, row: Row, given: ImportedLetter, resolution?: Resolution): void {
  const { firstAt, lastAt, attempts } = given;
  const death = groupFor(store, given.death, lastMessageOf(attempts));
  const data = { reason: "imported", signature: death.signature };
  record(store, { type: "dlq_item_added", queue: row.queue.name, itemId: row.itemId, data });
  buryRow(store, row, death, { at: lastAt, firstAt });
  if (resolution) {
    knowGroup(store, row);
    closeLetter(store, row, resolution);
  } else countBurial(store, row);
}

/**
 * The attempts that the row lacks. A number that it had before its purge is not reused, and its failure is already
 * in the error log.
 */
function addAttempts(store: Store, row: Row, { attempts }: ImportedLetter): void {
  const had = row.started;
  const where = { queue: row.queue.name, itemId: row.itemId };
  for (const { attempt, event } of importedFailures(attempts.slice(had)))
    record(store, { ...event, ...where, attempt });
  row.attempts.push(...attempts.slice(row.attempts.length).map(frozenCopy));
  const last = attempts.at(-1)?.endedAt ?? 0;
  while (row.attempts.length < had) row.attempts.push(releasedElsewhere(row.attempts.length + 1, last));
  row.started = row.attempts.length;
  row.queue.attempts += row.started - had;
}
