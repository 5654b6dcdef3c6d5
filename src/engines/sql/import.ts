/**
 * Imports letters. Looks them up together, decides about each one in memory, and writes them with a few
 * statements per table, so that an import needs few round trips.
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
import { type Attempt, type DeathRecord, rankOf } from "../../item/item.ts";
import type { Letter, Resolution } from "../../item/letter.ts";
import type { ItemState } from "../../item/state.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import { insertAmendments } from "./amendments.ts";
import { headerValues, type Ledger, letterColumns, newLedger, unburyAll, writeLedger } from "./bury.ts";
import type { Db, Scalar, Step } from "./db.ts";
import type { NumberedLetter } from "./deltas.ts";
import { nextPosition, queueNo } from "./jobs.ts";

export function* importLetters(db: Db, queueName: string, letters: readonly Letter[]): Step<ImportReport> {
  const taken = letters.map((letter) => ({ letter, given: importedLetter(letter) }));
  const queue = yield* queueNo(db, queueName);
  const ids = letters.map(({ itemId }) => itemId);
  const plan = new Admissions(yield* knownItems(db, queue, ids));
  const report = { imported: 0, extended: 0, existing: 0 };
  for (const { letter, given } of taken) report[plan.take(letter, given)] += 1;
  if (report.imported + report.extended === 0) return report;
  const ledger = newLedger(db);
  const { items } = plan;
  yield* writeItems(db, queue, items);
  for (const { known, came, state, attempts } of items) {
    if (came !== undefined) ledger.deltas.move(queue, known?.state ?? null, state);
    ledger.deltas.queue(queue, "attempts", attempts - (known?.attempts ?? 0));
  }
  yield* buryAdmitted(ledger, queue, plan);
  ledger.events.add({ type: "dlq_items_imported", data: { ...report } }, { queue });
  yield* writeLedger(ledger);
  return report;
}

/**
 * Reads and locks the items that already exist in the queue, so that a dead item stays dead until the import
 * commits.
 */
function* knownItems(db: Db, queue: number, ids: readonly string[]): Step<readonly KnownItem[]> {
  const rows = yield* db.all<{
    readonly item_id: string;
    readonly ref: number;
    readonly state: ItemState;
    readonly attempts: number;
    readonly purged: number;
  }>(
    `SELECT item_id, ref, state, attempts, purged FROM items WHERE queue = ? AND ${db.sql.among("item_id", "?", "text")}
      ORDER BY ref ${db.sql.forUpdate}`,
    queue,
    ids,
  );
  return rows.map(({ item_id: itemId, purged, ...row }) => ({ ...row, itemId, isPurged: purged === 1 }));
}

function* writeItems(db: Db, queue: number, items: readonly Admission[]): Step<void> {
  const fresh = items.filter(({ known }) => known === undefined);
  const first = yield* nextPosition(db, queue);
  const refs = yield* db.takeRefs(fresh.length);
  for (const [at, item] of fresh.entries()) item.ref = refs[at] ?? 0;
  const made = yield* db.insert(
    "items (ref, queue, item_id, position, state, due_at, attempts, attempts_counted, lost_count, revision, redrives, priority, purged)",
    fresh.map(({ ref, itemId, state, attempts, came }, at) => [
      ...[ref, queue, itemId, first + at, state, db.now, attempts, 0, 0],
      ...[came?.given.revision ?? 1, came?.letter.redriveCount ?? 0, NORMAL, 0],
    ]),
    "ON CONFLICT DO NOTHING",
  );
  if (made < fresh.length) throw db.lostRace("an item was added while its letter was imported");
  const rest = items.filter(({ known }) => known !== undefined);
  yield* refill(
    db,
    rest.filter(({ came }) => came !== undefined),
  );
  yield* extend(
    db,
    rest.filter(({ came }) => came === undefined),
  );
  yield* writeRecords(db, items, yield* holderElsewhere(db, queue));
}

const NORMAL = rankOf("normal");

/** Restores the data of purged items, of which only the row was kept. */
function* refill(db: Db, items: readonly Admission[]): Step<void> {
  if (items.length === 0) return;
  const rows = db.sql.relation(
    "n",
    { ref: "bigint", state: "text", attempts: "bigint", revision: "bigint", redrives: "bigint" },
    items.map(({ ref, state, attempts, came }) => [
      ...[ref, state, attempts, came?.given.revision ?? 1, came?.letter.redriveCount ?? 0],
    ]),
  );
  yield* db.run(
    `UPDATE items SET state = n.state, purged = 0, due_at = ?, attempts = n.attempts, attempts_counted = 0, lost_count = 0,
            revision = n.revision, redrives = n.redrives, operation = NULL FROM ${rows.sql} WHERE items.ref = n.ref`,
    db.now,
    ...rows.values,
  );
}

function* extend(db: Db, items: readonly Admission[]): Step<void> {
  if (items.length === 0) return;
  const rows = db.sql.relation(
    "n",
    { ref: "bigint", attempts: "bigint" },
    items.map(({ ref, attempts }) => [ref, attempts]),
  );
  yield* db.run(
    `UPDATE items SET attempts = n.attempts FROM ${rows.sql} WHERE items.ref = n.ref`,
    ...rows.values,
  );
}

/** One unregistered holder represents all holders of imported attempts. */
function* holderElsewhere(db: Db, queue: number): Step<number> {
  yield* db.run(
    `INSERT INTO holders (id, queue, host, pid, process_start, ttl_ms, expires_at, gone)
     VALUES (?, ?, '', 0, '', 1, 0, 1) ON CONFLICT DO NOTHING`,
    ELSEWHERE,
    queue,
  );
  return (yield* db.get<{ no: number }>("SELECT no FROM holders WHERE id = ?", ELSEWHERE))?.no ?? 0;
}

/** Inserts the payloads, attempts, late results, notes and amendments of the items. */
function* writeRecords(db: Db, items: readonly Admission[], holder: number): Step<void> {
  const came = items.flatMap(({ ref, came: one }) => (one === undefined ? [] : [{ ref, ...one }]));
  yield* db.insert(
    "payloads (ref, data)",
    came.map(({ ref, letter }) => [ref, stringifyJson(letter.itemData)]),
  );
  yield* db.insert(
    "attempts (ref, number, outcome, holder, started_at, ended_at, failure, log)",
    items.flatMap(({ ref, records }) => records.map((record) => attemptRow(ref, holder, record))),
  );
  yield* db.insert(
    "late_results (ref, at, attempt, outcome, note)",
    came.flatMap(({ ref, letter }) =>
      (letter.lateResults ?? []).map((one) => [ref, one.at, one.attemptNumber, one.outcome, one.note]),
    ),
  );
  yield* db.insert(
    "notes (ref, at, author, text)",
    came.flatMap(({ ref, letter }) =>
      (letter.notes ?? []).map(({ at, author, text }) => [ref, at, author, text]),
    ),
  );
  yield* insertAmendments(
    db,
    came.flatMap(({ ref, given }) => given.amendments.map((one) => ({ ...one, ref, letter: null }))),
  );
}

function attemptRow(ref: number, holder: number, attempt: Attempt): Scalar[] {
  const { number, outcome, startedAt, endedAt, failure, log } = attempt;
  const text = failure === undefined ? null : stringifyJson(failureToJson(failure));
  return [ref, number, outcome, holder, startedAt, endedAt ?? startedAt, text, log ?? null];
}

/** A burial with its number and its group. */
interface Buried extends PlannedBurial {
  readonly numbered: NumberedLetter;
}

/** The rows of the items must exist, and new items must be numbered. */
function* buryAdmitted(ledger: Ledger, queue: number, plan: Admissions): Step<void> {
  const { db, deltas } = ledger;
  const burials = yield* numberBurials(ledger, queue, plan.burials);
  yield* unburyAll(
    db,
    deltas,
    plan.reburied.map(({ ref }) => ({ ref, queue })),
  );
  // If an item is buried several times in this import, only the last burial is kept.
  const last = new Map<Admission, Buried>();
  for (const burial of burials) {
    const earlier = last.get(burial.item);
    if (earlier !== undefined) {
      deltas.unburied(earlier.numbered);
      deltas.queue(queue, "letters", -1);
    }
    last.set(burial.item, burial);
    buryOne(ledger, queue, burial);
  }
  yield* writeDeaths(db, [...last.values()]);
}

function* numberBurials(
  { db, groups }: Ledger,
  queue: number,
  burials: readonly PlannedBurial[],
): Step<readonly Buried[]> {
  const deaths: readonly DeathRecord[] = yield* groups.groupAll(
    burials.map(({ death, message }) => ({ group: death, message })),
  );
  const timeOf = (at: number) => burials[at]?.lastAt ?? db.now;
  const numbers = yield* groups.numbersOf(deaths.map((header, at) => ({ queue, at: timeOf(at), header })));
  const latest = burials.reduce((most, { lastAt }) => Math.max(most, lastAt), 0);
  const first = yield* db.takeBurials(burials.length, latest);
  return burials.map((burial, at) => {
    const [death, grp] = [deaths[at], numbers[at]];
    assert(death !== undefined && grp !== undefined, `the letter of ${burial.item.itemId} has no group`);
    const { lastAt: buried_at, firstAt: first_at } = burial;
    return { ...burial, death, numbered: { no: first + at, grp, buried_at, first_at } };
  });
}

/** A letter that is imported with a resolution is not a new failure of its group. */
function buryOne({ deltas, groups, events }: Ledger, queue: number, burial: Buried): void {
  const { item, death, numbered: at, resolution, news } = burial;
  const where = { queue, ref: item.ref };
  for (const { attempt, event } of importedFailures(news)) events.add(event, { ...where, attempt });
  events.add({ type: "dlq_item_added", data: { reason: "imported", signature: death.signature } }, where);
  deltas.buried(at);
  if (resolution === undefined) {
    deltas.queue(queue, "letters", 1);
    groups.buried(death, where);
    return;
  }
  deltas.unburied(at);
  deltas.group(at.grp, item.state === "done" ? "resolved" : "discarded", 1);
  if (item.state === "done") deltas.queue(queue, "resolved", 1);
  groups.know(death, where);
}

/** Inserts letters with their original times. Letters with a resolution are inserted as resolved. */
function* writeDeaths(db: Db, burials: readonly Buried[]): Step<void> {
  const rowOf = ({ item, death, message, numbered: { no, grp, buried_at, first_at } }: Buried) => [
    ...[no, item.ref, grp, buried_at],
    ...headerValues(db.sql, death, { message, firstAt: first_at, arrivedAt: db.now }),
  ];
  yield* db.insert(
    `letters (${letterColumns(db.sql)})`,
    burials.filter(({ resolution }) => resolution === undefined).map(rowOf),
  );
  yield* db.insert(
    `resolved_letters (${letterColumns(db.sql)}, kind, closed_at, author, why, operation)`,
    burials.flatMap((burial) => {
      if (burial.resolution === undefined) return [];
      const { kind, at, author, reason, operationId } = burial.resolution;
      return [[...rowOf(burial), kind, at, author ?? null, reason ?? null, operationId ?? null]];
    }),
  );
}

/** An item that already exists in the queue. */
interface KnownItem {
  readonly itemId: string;
  readonly ref: number;
  readonly state: ItemState;
  readonly attempts: number;
  readonly isPurged: boolean;
}

/** An item that the import creates, extends, or refills after a purge. */
interface Admission {
  readonly itemId: string;
  readonly known: KnownItem | undefined;
  /** The letter that creates or refills the item; undefined if the item is only extended. */
  readonly came: { readonly letter: Letter; readonly given: ImportedLetter } | undefined;
  readonly state: ItemState;
  /** 0 until a new item is numbered. */
  ref: number;
  /** The number of attempts after the import; `records` are the ones to insert. */
  attempts: number;
  readonly records: Attempt[];
}

/** A letter to bury. Burials are kept in the order of the import. */
interface PlannedBurial {
  readonly item: Admission;
  readonly death: DeathRecord;
  readonly message: string;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly resolution: Resolution | undefined;
  /** Attempts that are new to the store; their failures are added to the error log. */
  readonly news: readonly Attempt[];
}

class Admissions {
  readonly burials: PlannedBurial[] = [];
  readonly #known: ReadonlyMap<string, KnownItem>;
  readonly #items = new Map<string, Admission>();

  constructor(known: readonly KnownItem[]) {
    this.#known = new Map(known.map((item) => [item.itemId, item]));
  }

  get items(): readonly Admission[] {
    return [...this.#items.values()];
  }

  /** Existing dead items that get a new death record. */
  get reburied(): readonly Admission[] {
    return this.items.filter(({ came }) => came === undefined);
  }

  take(letter: Letter, given: ImportedLetter): keyof ImportReport {
    const known = this.#known.get(letter.itemId);
    const item = this.#items.get(letter.itemId);
    if (item === undefined && (known === undefined || known.isPurged)) {
      this.#comeIn(letter, given, known);
      return "imported";
    }
    const { state, attempts } = item ?? known ?? { state: "ready", attempts: 0 };
    if (state !== "dead" || attempts >= given.attempts.length) return "existing";
    this.#extend(item ?? this.#foundDead(letter.itemId, known), given);
    return "extended";
  }

  /** Creates an item, or refills a purged one, whose attempt number must not decrease. */
  #comeIn(letter: Letter, given: ImportedLetter, known: KnownItem | undefined): void {
    const records = [...given.attempts];
    const last = records.at(-1)?.endedAt ?? 0;
    while (records.length < (known?.attempts ?? 0)) records.push(releasedElsewhere(records.length + 1, last));
    const { itemId, resolution } = letter;
    const came = { letter, given };
    const sums = { ref: known?.ref ?? 0, attempts: records.length };
    const item = { itemId, known, came, state: given.state, records, ...sums };
    this.#items.set(itemId, item);
    this.#bury(item, given, { resolution, news: given.attempts.slice(known?.attempts ?? 0) });
  }

  #foundDead(itemId: string, known: KnownItem | undefined): Admission {
    const [ref, attempts] = [known?.ref ?? 0, known?.attempts ?? 0];
    const item: Admission = { itemId, known, came: undefined, state: "dead", ref, attempts, records: [] };
    this.#items.set(itemId, item);
    return item;
  }

  /** Adds the missing attempts to a dead item with a shorter history, and buries it again with the imported death record. */
  #extend(item: Admission, given: ImportedLetter): void {
    const news = given.attempts.slice(item.attempts);
    item.records.push(...news);
    item.attempts = given.attempts.length;
    this.#bury(item, given, { resolution: undefined, news });
  }

  #bury(item: Admission, given: ImportedLetter, how: Pick<PlannedBurial, "resolution" | "news">): void {
    const { attempts, death, firstAt, lastAt } = given;
    this.burials.push({ item, death, message: lastMessageOf(attempts), firstAt, lastAt, ...how });
  }
}
