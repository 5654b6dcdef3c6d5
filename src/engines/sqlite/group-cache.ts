/**
 * The groups that one transaction has to do with. Each signature is looked up once, corrections only when there are any;
 * what became of marks and fixes is written at the end.
 */

import type { EventSubject } from "../../item/event.ts";
import type { Correction } from "../../item/group.ts";
import {
  afterBurial,
  afterLastSuccess,
  corrected,
  type Grouping,
  type GroupLife,
  newLife,
  openedEvent,
  reopenedEvent,
  resolvedEvent,
} from "../../item/group.ts";
import type { DeathRecord } from "../../item/item.ts";
import { listCorrections } from "../sql/corrections.ts";
import type { EventLog } from "../sql/event-log.ts";
import { runOn } from "./db.ts";
import { countFix, type FixSum } from "./fixes.ts";
import { readLife, writeLife } from "./marks.ts";
import type { Session } from "./session.ts";

/** What a burial has to know of a mark: an open one is not changed by it. */
interface Known {
  readonly pattern: string;
  readonly isOpen: boolean;
}

/** What makes the letters of a queue one row of `groups`, and what is written there of the first. */
export type LetterHeader = Pick<
  DeathRecord,
  | "signature"
  | "pattern"
  | "algorithm"
  | "errorType"
  | "errorClass"
  | "reprocessEligible"
  | "manualReviewRequired"
>;

export class GroupCache {
  readonly #session: Session;
  readonly #now: number;
  readonly #events: EventLog;
  /** Marks as the transaction found or made them; null when there is none. */
  readonly #known = new Map<string, Known | null>();
  /** What has changed of them. */
  readonly #lives = new Map<string, GroupLife>();
  readonly #numbers = new Map<string, number>();
  readonly #fixes = new Map<string, FixSum>();
  /** Where the last success of each signature was. */
  readonly #succeeded = new Map<string, EventSubject>();
  #corrections: readonly Correction[] | undefined;

  constructor(session: Session, now: number, events: EventLog) {
    this.#session = session;
    this.#now = now;
    this.#events = events;
  }

  /** The group of a failure with this message, by the corrections and under the pattern that its signature has. */
  groupFor<Group extends Grouping>(group: Group, message: () => string): Group {
    const asked = this.#look(group.signature);
    const isCorrected = this.#corrections !== undefined && this.#corrections.length > 0;
    const found = isCorrected ? corrected(group, message(), this.#corrections ?? []) : group;
    const known = found === group ? asked : this.#look(found.signature);
    return known === null || known.pattern === found.pattern ? found : { ...found, pattern: known.pattern };
  }

  /** A letter is in the group: it is opened when it is the first of its signature. */
  know({ signature, pattern }: Grouping, place: EventSubject): Known {
    const known = this.#look(signature);
    if (known !== null) return known;
    const { state, since } = newLife(this.#now);
    const sql = "INSERT INTO group_records (signature, pattern, state, since) VALUES (?, ?, ?, ?)";
    this.#session.run(sql, signature, pattern, state, since);
    const opened = { pattern, isOpen: true };
    this.#known.set(signature, opened);
    this.#events.add(openedEvent({ signature, pattern }), place);
    return opened;
  }

  /** A letter was buried, and waits: a group that was resolved or ignored may be open again. */
  buried(group: Grouping, place: EventSubject): void {
    if (this.know(group, place).isOpen) return;
    const { signature } = group;
    const { life, why } = afterBurial(this.#lifeOf(signature), this.#now);
    this.#lives.set(signature, life);
    if (why !== undefined) this.#events.add(reopenedEvent(signature, why), place);
  }

  /** A redriven letter succeeded. */
  succeeded(fix: Omit<FixSum, "count">, place: EventSubject): void {
    const key = `${fix.signature}\n${fix.operation}\n${fix.kind}`;
    const before = this.#fixes.get(key);
    const waitedMs = Math.min(fix.waitedMs, before?.waitedMs ?? fix.waitedMs);
    this.#fixes.set(key, { ...fix, waitedMs, count: (before?.count ?? 0) + 1 });
    this.#succeeded.set(fix.signature, place);
  }

  /** The number of the row of `groups`; it is made when there is none, first seen at that time. */
  numberOf(queue: number, at: number, header: LetterHeader): number {
    const { signature, errorType, errorClass, reprocessEligible, manualReviewRequired } = header;
    const key = `${queue}\n${signature}\n${errorType}\n${errorClass}\n${reprocessEligible}\n${manualReviewRequired}`;
    const number = this.#numbers.get(key) ?? findOrMake(this.#session, queue, at, header);
    this.#numbers.set(key, number);
    return number;
  }

  /** After the counters, by which it is told whether letters wait, and before the events. */
  write(): void {
    for (const fix of this.#fixes.values()) countFix(this.#session, fix, this.#now);
    for (const [signature, place] of this.#succeeded) this.#resolveWhenOver(signature, place);
    for (const [signature, life] of this.#lives) writeLife(this.#session, signature, life);
  }

  #resolveWhenOver(signature: string, place: EventSubject): void {
    if (isWaiting(this.#session, signature)) return;
    const life = this.#lifeOf(signature);
    const resolved = afterLastSuccess(life, this.#now);
    if (resolved === life) return;
    this.#lives.set(signature, resolved);
    this.#events.add(resolvedEvent(signature), place);
  }

  #lifeOf(signature: string): GroupLife {
    return this.#lives.get(signature) ?? readLife(this.#session, signature);
  }

  #look(signature: string): Known | null {
    const known = this.#known.get(signature);
    if (known !== undefined) return known;
    const row = this.#session.get<{ pattern: string; state: string; is_corrected: number }>(
      "SELECT pattern, state, EXISTS (SELECT 1 FROM corrections) AS is_corrected FROM group_records WHERE signature = ?",
      signature,
    );
    this.#corrections ??= row?.is_corrected === 0 ? [] : runOn(this.#session, (db) => listCorrections(db));
    const found = row === undefined ? null : { pattern: row.pattern, isOpen: row.state === "open" };
    this.#known.set(signature, found);
    return found;
  }
}

function findOrMake(session: Session, queue: number, at: number, header: LetterHeader): number {
  const { signature, errorType, errorClass, reprocessEligible, manualReviewRequired } = header;
  const judged = [reprocessEligible ? 1 : 0, manualReviewRequired ? 1 : 0];
  const key = [queue, signature, errorType, errorClass, ...judged];
  const found = session.get<{ no: number }>(
    `SELECT no FROM groups WHERE queue = ? AND signature = ? AND error_type = ? AND error_class = ? AND eligible = ?
        AND review = ?`,
    ...key,
  );
  if (found !== undefined) return found.no;
  const made = session.run(
    `INSERT INTO groups (queue, signature, error_type, error_class, eligible, review, pattern, algorithm, first_at, last_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...key,
    ...[header.pattern, header.algorithm, at, at],
  );
  return Number(made.lastInsertRowid);
}

/** In any queue. The newest groups first: they are the likeliest to have letters. */
function isWaiting(session: Session, signature: string): boolean {
  const sql = "SELECT no FROM groups WHERE signature = ? AND count > 0 ORDER BY no DESC LIMIT 1";
  return session.get(sql, signature) !== undefined;
}
