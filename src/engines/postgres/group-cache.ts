/**
 * The groups that one transaction has to do with. Signatures and rows of groups are looked up for a whole batch in one
 * statement; what became of marks and fixes is written at the end. Only under the lock of letters, so nobody changes them meanwhile.
 */

import type { EventSubject } from "../../item/event.ts";
import type { Correction } from "../../item/group.ts";
import {
  afterBurial,
  afterLastSuccess,
  corrected,
  type Grouping,
  newLife,
  openedEvent,
  reopenedEvent,
  resolvedEvent,
} from "../../item/group.ts";
import { assert } from "../../std/assert.ts";
import { listCorrections } from "../sql/corrections.ts";
import type { EventLog } from "../sql/event-log.ts";
import { runOn } from "./db.ts";
import { countFixes, type FixSum } from "./fixes.ts";
import { type AskedRow, findOrMakeRows, findRows, type LetterHeader } from "./group-rows.ts";
import { type KnownMark, readLives, writeLives } from "./marks.ts";
import type { Tx } from "./session.ts";

export class GroupCache {
  readonly #tx: Tx;
  readonly #now: number;
  readonly #events: EventLog;
  /** Marks as the transaction found or made them; null when there is none. */
  readonly #marks = new Map<string, KnownMark | null>();
  /** The signatures whose marks are to be written. */
  readonly #changed = new Set<string>();
  /** The patterns of signatures that get their first letter in this transaction. */
  readonly #patterns = new Map<string, string>();
  readonly #rows = new Map<string, number>();
  readonly #fixes = new Map<string, FixSum>();
  /** Where the last success of each signature was. */
  readonly #succeeded = new Map<string, EventSubject>();
  #corrections: Promise<readonly Correction[]> | undefined;

  constructor(tx: Tx, now: number, events: EventLog) {
    this.#tx = tx;
    this.#now = now;
    this.#events = events;
  }

  /**
   * The groups of failures with these messages, by the corrections and under the patterns that their signatures have. A
   * signature that is new has the pattern of the first of them.
   */
  async groupAll<Group extends Grouping>(
    asked: readonly { readonly group: Group; readonly message: string }[],
  ): Promise<Group[]> {
    if (asked.length === 0) return [];
    const [corrections] = await Promise.all([
      this.#correctionsNow(),
      this.#meet(asked.map(({ group }) => group.signature)),
    ]);
    const found =
      corrections.length === 0
        ? asked.map(({ group }) => group)
        : asked.map(({ group, message }) => corrected(group, message, corrections));
    await this.#meet(found.map(({ signature }) => signature));
    return found.map((group) => this.#underItsPattern(group));
  }

  /** Looks up, all at once, what the burials of these will most likely need. Nothing is changed. */
  async foresee(queue: number, headers: readonly LetterHeader[]): Promise<void> {
    if (headers.length === 0) return;
    const asked = this.#strangers(headers.map((header) => ({ queue, at: this.#now, header })));
    const [found] = await Promise.all([
      findRows(this.#tx, [...asked.values()]),
      this.#correctionsNow(),
      this.#meet(headers.map(({ signature }) => signature)),
    ]);
    const keys = [...asked.keys()];
    for (const [place, no] of found) this.#rows.set(keys[place] ?? "", no);
  }

  /** A letter is in the group, which `groupAll` gave: it is opened when it is the first of its signature. */
  know({ signature, pattern }: Grouping, place: EventSubject): KnownMark {
    const known = this.#marks.get(signature);
    assert(known !== undefined, `signature ${signature} was never looked up`);
    if (known !== null) return known;
    const opened = { pattern, life: newLife(this.#now) };
    this.#change(signature, opened);
    this.#events.add(openedEvent({ signature, pattern }), place);
    return opened;
  }

  /** A letter was buried, and waits: a group that was resolved or ignored may be open again. */
  buried(group: Grouping, place: EventSubject): void {
    const { pattern, life: before } = this.know(group, place);
    const { life, why } = afterBurial(before, this.#now);
    if (life !== before) this.#change(group.signature, { pattern, life });
    if (why !== undefined) this.#events.add(reopenedEvent(group.signature, why), place);
  }

  /** A redriven letter succeeded. */
  succeeded(fix: Omit<FixSum, "count">, place: EventSubject): void {
    const key = `${fix.signature}\n${fix.operation}\n${fix.kind}`;
    const before = this.#fixes.get(key);
    const waitedMs = Math.min(fix.waitedMs, before?.waitedMs ?? fix.waitedMs);
    this.#fixes.set(key, { ...fix, waitedMs, count: (before?.count ?? 0) + 1 });
    this.#succeeded.set(fix.signature, place);
  }

  /** The numbers of the rows of `groups`, in the order asked; those that are not there are made, first seen at that time. */
  async numbersOf(asked: readonly AskedRow[]): Promise<number[]> {
    const missing = this.#strangers(asked);
    const numbers = await findOrMakeRows(this.#tx, [...missing.values()]);
    for (const [place, key] of [...missing.keys()].entries()) this.#rows.set(key, numbers[place] ?? 0);
    return asked.map((one) => this.#rows.get(rowKey(one)) ?? 0);
  }

  /** Whether something is written only after a look at the counters. */
  get hasEnds(): boolean {
    return this.#succeeded.size > 0;
  }

  /** After the counters, by which it is told whether letters wait, and before the events. Without ends it is sent at once. */
  async write(): Promise<void> {
    if (this.hasEnds) await this.#resolveThoseOver();
    await Promise.all([
      writeLives(
        this.#tx,
        [...this.#changed].map((signature) => ({ signature, ...this.#mark(signature) })),
      ),
      countFixes(this.#tx, [...this.#fixes.values()], this.#now),
    ]);
  }

  /** Rows that were not looked up yet, by their keys. */
  #strangers(asked: readonly AskedRow[]): ReadonlyMap<string, AskedRow> {
    const missing = new Map<string, AskedRow>();
    for (const one of asked) {
      const key = rowKey(one);
      if (!this.#rows.has(key) && !missing.has(key)) missing.set(key, one);
    }
    return missing;
  }

  async #resolveThoseOver(): Promise<void> {
    const signatures = [...this.#succeeded.keys()];
    const [waiting] = await Promise.all([waitingOf(this.#tx, signatures), this.#meet(signatures)]);
    for (const [signature, place] of this.#succeeded) {
      if (waiting.has(signature)) continue;
      const { pattern, life } = this.#mark(signature);
      const resolved = afterLastSuccess(life, this.#now);
      if (resolved === life) continue;
      this.#change(signature, { pattern, life: resolved });
      this.#events.add(resolvedEvent(signature), place);
    }
  }

  #underItsPattern<Group extends Grouping>(group: Group): Group {
    const { signature } = group;
    const pattern = this.#marks.get(signature)?.pattern ?? this.#patterns.get(signature) ?? group.pattern;
    this.#patterns.set(signature, pattern);
    return pattern === group.pattern ? group : { ...group, pattern };
  }

  #change(signature: string, mark: KnownMark): void {
    this.#marks.set(signature, mark);
    this.#changed.add(signature);
  }

  #mark(signature: string): KnownMark {
    const mark = this.#marks.get(signature);
    assert(mark, `signature ${signature} has letters and no mark`);
    return mark;
  }

  async #meet(signatures: readonly string[]): Promise<void> {
    const strangers = [...new Set(signatures)].filter((signature) => !this.#marks.has(signature));
    if (strangers.length === 0) return;
    const found = await readLives(this.#tx, strangers);
    for (const signature of strangers) this.#marks.set(signature, found.get(signature) ?? null);
  }

  #correctionsNow(): Promise<readonly Correction[]> {
    this.#corrections ??= runOn(this.#tx, (db) => listCorrections(db));
    return this.#corrections;
  }
}

function rowKey({ queue, header }: AskedRow): string {
  const { signature, errorType, errorClass, reprocessEligible, manualReviewRequired } = header;
  return `${queue}\n${signature}\n${errorType}\n${errorClass}\n${reprocessEligible}\n${manualReviewRequired}`;
}

/** Those that have letters in any queue. */
async function waitingOf(tx: Tx, signatures: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx.all<{ signature: string }>(
    "SELECT DISTINCT signature FROM groups WHERE signature = ANY (?::text[]) AND count > 0",
    signatures,
  );
  return new Set(rows.map(({ signature }) => signature));
}
