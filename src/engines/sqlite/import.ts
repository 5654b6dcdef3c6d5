/**
 * Letters from elsewhere come into SQLite. They are looked up together and written together, a few statements for many:
 * an import is as fast as the disk, not as the calls.
 */

import type { ImportReport } from "../../engine.ts";
import { importedFailures } from "../../item/event.ts";
import { failureToJson } from "../../item/failure.ts";
import {
  ELSEWHERE,
  type ImportedLetter,
  importedLetter,
  lastMessageOf,
  releasedElsewhere,
} from "../../item/imported-letter.ts";
import type { Attempt } from "../../item/item.ts";
import type { Letter } from "../../item/letter.ts";
import type { ItemState } from "../../item/state.ts";
import { stringifyJson } from "../../std/json.ts";
import { EventLog } from "../sql/event-log.ts";
import { insertAmendments } from "./amendments.ts";
import { HEADER_COLUMNS, headerValues, unbury } from "./bury.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { writeEvents } from "./events.ts";
import { GroupCache } from "./group-cache.ts";
import { countQueue, queueNo } from "./jobs.ts";
import { lastBurial } from "./selection.ts";
import type { Session, Value } from "./session.ts";

/** Letters come in one after the other: the second of the same item finds the first. */
export function importLetters(session: Session, queueName: string, letters: readonly Letter[]): ImportReport {
  const taken = letters.map((letter) => ({ letter, given: importedLetter(letter) }));
  const batch = newBatch(session, queueName, letters);
  const report = { imported: 0, extended: 0, existing: 0 };
  for (const { letter, given } of taken) {
    const fate = takeIn(batch, letter, given);
    report[fate] += 1;
  }
  if (report.imported + report.extended > 0) {
    batch.events.add({ type: "dlq_items_imported", data: { ...report } }, { queue: batch.queue });
  }
  writeBatch(batch);
  return report;
}

/** What the queue knows of an item. */
interface Known {
  readonly ref: number;
  readonly state: ItemState;
  readonly attempts: number;
  readonly purged: boolean;
}

/** The rows of one import until they are written, and the numbers that they take. */
interface Batch {
  readonly session: Session;
  readonly queue: number;
  readonly holder: number;
  readonly now: number;
  readonly known: Map<string, Known>;
  readonly groups: GroupCache;
  readonly deltas: CounterDeltas;
  readonly events: EventLog;
  place: number;
  ref: number;
  letterSequence: number;
  readonly items: Value[][];
  readonly payloads: Value[][];
  readonly attempts: Value[][];
  readonly letters: Value[][];
  readonly closed: Value[][];
  readonly lateResults: Value[][];
  readonly notes: Value[][];
}

function newBatch(session: Session, queueName: string, letters: readonly Letter[]): Batch {
  const queue = queueNo(session, queueName);
  const now = session.clock.now();
  const events = new EventLog(now);
  const last = session.get<{ ref: number }>("SELECT coalesce(max(ref), 0) AS ref FROM items");
  return {
    session,
    queue,
    now,
    holder: holderElsewhere(session, queue),
    known: knownItems(
      session,
      queue,
      letters.map(({ itemId }) => itemId),
    ),
    groups: new GroupCache(session, now, events),
    deltas: new CounterDeltas(),
    events,
    place: countQueue(session, queueName).total,
    ref: last?.ref ?? 0,
    letterSequence: lastBurial(session),
    ...{ items: [], payloads: [], attempts: [], letters: [], closed: [], lateResults: [], notes: [] },
  };
}

/** One row stands for whoever held the attempts that were made elsewhere. It has left. */
function holderElsewhere(session: Session, queue: number): number {
  session.run(
    `INSERT INTO holders (id, queue, host, pid, process_start, ttl_ms, expires_at, gone) VALUES (?, ?, '', 0, '', 1, 0, 1)
     ON CONFLICT DO NOTHING`,
    ELSEWHERE,
    queue,
  );
  return session.get<{ no: number }>("SELECT no FROM holders WHERE id = ?", ELSEWHERE)?.no ?? 0;
}

function knownItems(session: Session, queue: number, itemIds: readonly string[]): Map<string, Known> {
  const rows = session.all<{
    item_id: string;
    ref: number;
    state: ItemState;
    attempts: number;
    purged: number;
  }>(
    `SELECT i.item_id, i.ref, i.state, i.attempts, i.purged FROM json_each(?) ids
            CROSS JOIN items i ON i.queue = ? AND i.item_id = ids.value`,
    JSON.stringify(itemIds),
    queue,
  );
  return new Map(rows.map((row) => [row.item_id, { ...row, purged: row.purged === 1 }]));
}

function takeIn(batch: Batch, letter: Letter, given: ImportedLetter): keyof ImportReport {
  const known = batch.known.get(letter.itemId);
  if (known === undefined || known.purged) {
    comeIn(batch, letter, given, known);
    return "imported";
  }
  if (known.state !== "dead" || known.attempts >= given.attempts.length) return "existing";
  extend(batch, letter, given, known);
  return "extended";
}

/** A new item, or one whose bare row was left: it keeps the number of attempts that it had. */
function comeIn(batch: Batch, letter: Letter, given: ImportedLetter, purged: Known | undefined): void {
  const { deltas, queue } = batch;
  const ref = purged?.ref ?? ++batch.ref;
  const had = purged?.attempts ?? 0;
  const attempts = [...given.attempts];
  const last = attempts.at(-1)?.endedAt ?? 0;
  while (attempts.length < had) attempts.push(releasedElsewhere(attempts.length + 1, last));
  if (purged === undefined) newItem(batch, ref, letter, given);
  else refillItem(batch, ref, letter, given, attempts.length);
  deltas.move(queue, purged?.state ?? null, given.state);
  deltas.queue(queue, "attempts", attempts.length - had);
  batch.payloads.push([ref, stringifyJson(letter.itemData)]);
  recordAttempts(batch, ref, attempts);
  for (const { at, attemptNumber, outcome, note } of letter.lateResults ?? [])
    batch.lateResults.push([ref, at, attemptNumber, outcome, note]);
  for (const { at, author, text } of letter.notes ?? []) batch.notes.push([ref, at, author, text]);
  tellFailures(batch, ref, attempts.slice(had));
  buryIn(batch, ref, given, letter);
  batch.known.set(letter.itemId, { ref, state: given.state, attempts: attempts.length, purged: false });
}

/** Amendments are rare, and their rows need the item's: those of a new item are written with it. */
function newItem(batch: Batch, ref: number, letter: Letter, given: ImportedLetter): void {
  const { queue, now, place } = batch;
  batch.place += 1;
  const { state, attempts, revision, amendments } = given;
  batch.items.push([
    ...[ref, queue, letter.itemId, place, state, now, attempts.length, revision, letter.redriveCount],
  ]);
  if (amendments.length === 0) return;
  writeRows(batch);
  insertAmendments(batch.session, ref, amendments, null);
}

function refillItem(
  batch: Batch,
  ref: number,
  letter: Letter,
  given: ImportedLetter,
  attempts: number,
): void {
  batch.session.run(
    `UPDATE items SET state = ?, purged = 0, due_at = ?, attempts = ?, spent = 0, losses = 0, revision = ?, redrives = ?,
            operation = NULL WHERE ref = ?`,
    ...[given.state, batch.now, attempts, given.revision, letter.redriveCount, ref],
  );
  insertAmendments(batch.session, ref, given.amendments, null);
}

/** The item was dead with less of a history: it gets the rest, and dies of what it died of in the end. */
function extend(batch: Batch, letter: Letter, given: ImportedLetter, known: Known): void {
  const { session, deltas, queue } = batch;
  writeRows(batch); // it may have come in with this very import
  recordAttempts(batch, known.ref, given.attempts.slice(known.attempts));
  session.run("UPDATE items SET attempts = ? WHERE ref = ?", given.attempts.length, known.ref);
  deltas.queue(queue, "attempts", given.attempts.length - known.attempts);
  unbury(session, deltas, { ref: known.ref, queue });
  tellFailures(batch, known.ref, given.attempts.slice(known.attempts));
  buryIn(batch, known.ref, given);
  batch.known.set(letter.itemId, { ...known, attempts: given.attempts.length });
}

/** Those of attempts that a purged item had are in the error log already. */
function tellFailures({ events, queue }: Batch, ref: number, attempts: readonly Attempt[]): void {
  for (const { attempt, event } of importedFailures(attempts)) events.add(event, { queue, ref, attempt });
}

function recordAttempts(batch: Batch, ref: number, attempts: readonly Attempt[]): void {
  for (const { number, outcome, startedAt, endedAt, failure, log } of attempts) {
    const text = failure === undefined ? null : stringifyJson(failureToJson(failure));
    batch.attempts.push([
      ...[ref, number, outcome, batch.holder, startedAt, endedAt ?? startedAt, text, log ?? null],
    ]);
  }
}

/** Buried with its own times; one that has a resolution is closed at once. */
function buryIn(batch: Batch, ref: number, given: ImportedLetter, letter?: Letter): void {
  const { deltas, events, groups, queue, now } = batch;
  const { state, attempts, firstAt, lastAt } = given;
  const death = groups.groupFor(given.death, () => lastMessageOf(attempts));
  const grp = groups.numberOf(queue, lastAt, death);
  const no = ++batch.letterSequence;
  const row = [no, ref, grp, lastAt, ...headerValues(death, { firstAt, arrivedAt: now })];
  const place = { no, grp, buried_at: lastAt, first_at: firstAt };
  deltas.buried(place);
  const resolution = letter?.resolution;
  if (resolution === undefined) {
    batch.letters.push(row);
    deltas.queue(queue, "letters", 1);
  } else {
    const { kind, at, author, reason, operationId } = resolution;
    batch.closed.push([...row, kind, at, author ?? null, reason ?? null, operationId ?? null]);
    deltas.unburied(place);
    deltas.group(grp, state === "done" ? "resolved" : "discarded", 1);
    if (state === "done") deltas.queue(queue, "resolved", 1);
  }
  const data = { reason: "imported", signature: death.signature };
  events.add({ type: "dlq_item_added", data }, { queue, ref });
  // One that comes in closed is no new failure of its group.
  if (resolution === undefined) groups.buried(death, { queue, ref });
  else groups.know(death, { queue, ref });
}

function writeBatch(batch: Batch): void {
  const { session, deltas, groups, events } = batch;
  writeRows(batch);
  numberBurials(session, batch.letterSequence);
  deltas.write(session);
  groups.write();
  writeEvents(session, events);
}

/** Parents before children. */
function writeRows({ session, ...batch }: Batch): void {
  const write = (into: string, rows: Value[][]) => session.insert(into, rows.splice(0));
  write("items (ref, queue, item_id, place, state, due_at, attempts, revision, redrives)", batch.items);
  write("payloads (ref, data)", batch.payloads);
  write("attempts (ref, number, outcome, holder, started_at, ended_at, failure, log)", batch.attempts);
  write(`letters (no, ref, grp, buried_at, ${HEADER_COLUMNS})`, batch.letters);
  write(
    `resolved_letters (no, ref, grp, buried_at, ${HEADER_COLUMNS}, kind, closed_at, author, why, operation)`,
    batch.closed,
  );
  write("late_results (ref, at, attempt, outcome, note)", batch.lateResults);
  write("notes (ref, at, author, text)", batch.notes);
}

/** A number that only a closed letter took is not given away again. */
export function numberBurials(session: Session, last: number): void {
  const { changes } = session.run(
    "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'letters'",
    last,
  );
  if (changes === 0) session.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('letters', ?)", last);
}
