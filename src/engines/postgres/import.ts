/**
 * Letters from elsewhere come into PostgreSQL. They are looked up together, judged one after the other in memory, and
 * written together, a statement for each table: an import is as fast as the server, not as the calls.
 */

import type { ImportReport } from "../../engine.ts";
import { failureToJson } from "../../item/failure.ts";
import { ELSEWHERE, importedLetter } from "../../item/imported-letter.ts";
import type { Attempt } from "../../item/item.ts";
import { rankOf } from "../../item/item.ts";
import type { Letter } from "../../item/letter.ts";
import type { ItemState } from "../../item/state.ts";
import { stringifyJson } from "../../std/json.ts";
import { EventLog } from "../sql/event-log.ts";
import { insertAmendments } from "./amendments.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { writeEvents } from "./events.ts";
import { GroupCache } from "./group-cache.ts";
import { buryAdmitted } from "./import-deaths.ts";
import { type Admission, Admissions, type KnownItem } from "./import-plan.ts";
import { countQueue, queueNo } from "./jobs.ts";
import type { Tx } from "./session.ts";
import { lostRace } from "./trouble.ts";

export async function importLetters(
  tx: Tx,
  queueName: string,
  letters: readonly Letter[],
): Promise<ImportReport> {
  const taken = letters.map((letter) => ({ letter, given: importedLetter(letter) }));
  const queue = await queueNo(tx, queueName);
  const ids = letters.map(({ itemId }) => itemId);
  const plan = new Admissions(await knownItems(tx, queue, ids));
  const report = { imported: 0, extended: 0, existing: 0 };
  for (const { letter, given } of taken) {
    const fate = plan.take(letter, given);
    report[fate] += 1;
  }
  if (report.imported + report.extended === 0) return report;
  const [events, deltas] = [new EventLog(tx.now), new CounterDeltas()];
  const groups = new GroupCache(tx, tx.now, events);
  await writeItems(tx, plan.items, { queue, place: (await countQueue(tx, queueName)).total });
  countItems(deltas, queue, plan.items);
  await buryAdmitted({ tx, deltas, groups, events }, queue, plan);
  events.add({ type: "dlq_items_imported", data: { ...report } }, { queue });
  await deltas.write(tx);
  await groups.write();
  await writeEvents(tx, events);
  return report;
}

/** What the queue knows of them. They are locked: one that is dead stays so until this is over. */
async function knownItems(tx: Tx, queue: number, ids: readonly string[]): Promise<readonly KnownItem[]> {
  const rows = await tx.all<{
    readonly item_id: string;
    readonly ref: number;
    readonly state: ItemState;
    readonly attempts: number;
    readonly purged: number;
  }>(
    `SELECT item_id, ref, state, attempts, purged FROM items WHERE queue = ? AND item_id = ANY(?::text[])
      ORDER BY ref FOR UPDATE`,
    queue,
    ids,
  );
  return rows.map(({ item_id: itemId, purged, ...row }) => ({ ...row, itemId, isPurged: purged === 1 }));
}

async function writeItems(
  tx: Tx,
  items: readonly Admission[],
  { queue, place }: { readonly queue: number; readonly place: number },
): Promise<void> {
  const fresh = items.filter(({ known }) => known === undefined);
  const refs = await takeRefs(tx, fresh.length);
  for (const [at, item] of fresh.entries()) item.ref = refs[at] ?? 0;
  const made = await tx.insert(
    "items (ref, queue, item_id, place, state, due_at, attempts, spent, losses, revision, redrives, priority, purged)",
    fresh.map(({ ref, itemId, state, attempts, came }, at) => [
      ...[ref, queue, itemId, place + at, state, tx.now, attempts, 0, 0],
      ...[came?.given.revision ?? 1, came?.letter.redriveCount ?? 0, NORMAL, 0],
    ]),
    "ON CONFLICT DO NOTHING",
  );
  if (made < fresh.length) throw lostRace("an item was added while its letter was taken in");
  const rest = items.filter(({ known }) => known !== undefined);
  await refill(
    tx,
    rest.filter(({ came }) => came !== undefined),
  );
  await extend(
    tx,
    rest.filter(({ came }) => came === undefined),
  );
  await writeRecords(tx, items, await holderElsewhere(tx, queue));
}

const NORMAL = rankOf("normal");

/** Numbers for new items, in their order. */
export async function takeRefs(tx: Tx, count: number): Promise<readonly number[]> {
  if (count === 0) return [];
  const rows = await tx.all<{ ref: number }>(
    "SELECT nextval(pg_get_serial_sequence('items', 'ref')) AS ref FROM generate_series(1, ?::int)",
    count,
  );
  return rows.map(({ ref }) => ref);
}

/** The bare rows of purged items have something again. */
async function refill(tx: Tx, items: readonly Admission[]): Promise<void> {
  if (items.length === 0) return;
  await tx.run(
    `UPDATE items SET state = n.state, purged = 0, due_at = ?1, attempts = n.attempts, spent = 0, losses = 0,
            revision = n.revision, redrives = n.redrives, operation = NULL
       FROM unnest(?2::bigint[], ?3::text[], ?4::int[], ?5::int[], ?6::int[])
            n (ref, state, attempts, revision, redrives) WHERE items.ref = n.ref`,
    tx.now,
    items.map(({ ref }) => ref),
    items.map(({ state }) => state),
    items.map(({ attempts }) => attempts),
    items.map(({ came }) => came?.given.revision ?? 1),
    items.map(({ came }) => came?.letter.redriveCount ?? 0),
  );
}

async function extend(tx: Tx, items: readonly Admission[]): Promise<void> {
  if (items.length === 0) return;
  await tx.run(
    `UPDATE items SET attempts = n.attempts FROM unnest(?::bigint[], ?::int[]) n (ref, attempts)
      WHERE items.ref = n.ref`,
    items.map(({ ref }) => ref),
    items.map(({ attempts }) => attempts),
  );
}

/** One row stands for whoever held the attempts that were made elsewhere. It has left. */
async function holderElsewhere(tx: Tx, queue: number): Promise<number> {
  await tx.run(
    `INSERT INTO holders (id, queue, host, pid, process_start, ttl_ms, expires_at, gone)
     VALUES (?, ?, '', 0, '', 1, 0, 1) ON CONFLICT DO NOTHING`,
    ELSEWHERE,
    queue,
  );
  return (await tx.get<{ no: number }>("SELECT no FROM holders WHERE id = ?", ELSEWHERE))?.no ?? 0;
}

/** What the items hold besides their bare rows. */
async function writeRecords(tx: Tx, items: readonly Admission[], holder: number): Promise<void> {
  const came = items.flatMap(({ ref, came: one }) => (one === undefined ? [] : [{ ref, ...one }]));
  await tx.insert(
    "payloads (ref, data)",
    came.map(({ ref, letter }) => [ref, stringifyJson(letter.itemData)]),
  );
  await tx.insert(
    "attempts (ref, number, outcome, holder, started_at, ended_at, failure, log)",
    items.flatMap(({ ref, records }) => records.map((record) => attemptRow(ref, holder, record))),
  );
  await tx.insert(
    "late_results (ref, at, attempt, outcome, note)",
    came.flatMap(({ ref, letter }) =>
      (letter.lateResults ?? []).map((one) => [ref, one.at, one.attemptNumber, one.outcome, one.note]),
    ),
  );
  await tx.insert(
    "notes (ref, at, author, text)",
    came.flatMap(({ ref, letter }) =>
      (letter.notes ?? []).map(({ at, author, text }) => [ref, at, author, text]),
    ),
  );
  await insertAmendments(
    tx,
    came.flatMap(({ ref, given }) => given.amendments.map((one) => ({ ...one, ref, letter: null }))),
  );
}

function attemptRow(ref: number, holder: number, attempt: Attempt): (string | number | null)[] {
  const { number, outcome, startedAt, endedAt, failure, log } = attempt;
  const text = failure === undefined ? null : stringifyJson(failureToJson(failure));
  return [ref, number, outcome, holder, startedAt, endedAt ?? startedAt, text, log ?? null];
}

function countItems(deltas: CounterDeltas, queue: number, items: readonly Admission[]): void {
  for (const { known, came, state, attempts } of items) {
    if (came !== undefined) deltas.move(queue, known?.state ?? null, state);
    deltas.queue(queue, "attempts", attempts - (known?.attempts ?? 0));
  }
}
