/**
 * The records of signatures. They are created by the first letter, changed by burials, successes and people, and
 * never deleted.
 */
import { RedriveError } from "../../../src/errors.ts";
import type { EventDraft } from "../../../src/item/event.ts";
import {
  afterBurial,
  afterChange,
  afterLastSuccess,
  changedEvent,
  type GroupChange,
  type GroupFix,
  type GroupRecord,
  type GroupState,
  newLife,
  openedEvent,
  reopenedEvent,
  resolvedEvent,
} from "../../../src/item/group.ts";
import type { Amendment, Resolution } from "../../../src/item/letter.ts";
import { compact } from "../../../src/std/json.ts";
import { requireRecord } from "./books.ts";
import { burialOf } from "./bury.ts";
import { record as recordEvent } from "./events.ts";
import { compareCodePoints } from "./letter-order.ts";
import type { RecordRow, Row, Store } from "./store.ts";

/** By signature. All conditions must match. */
export function listGroupRecords(
  store: Store,
  { states, prefix = "" }: { readonly states?: readonly GroupState[]; readonly prefix?: string },
): readonly GroupRecord[] {
  return [...store.records.values()]
    .filter(({ life }) => states === undefined || states.includes(life.state))
    .filter(({ signature, pattern }) => signature.startsWith(prefix) || pattern.startsWith(prefix))
    .sort((a, b) => compareCodePoints(a.signature, b.signature))
    .map(recordOf);
}

/** A person's decision or note. */
export function changeGroup(store: Store, signature: string, change: GroupChange): GroupRecord {
  const record = store.records.get(signature);
  if (!record) {
    throw new RedriveError("item_not_found", `There is no group ${signature}.`, {
      hint: "List the groups with `redrive groups`.",
    });
  }
  record.life = afterChange(record.life, change, store.now);
  const { author, note } = change;
  if (note !== undefined) record.notes.push(Object.freeze({ at: store.now, author, text: note }));
  recordEvent(store, changedEvent(signature, change));
  return recordOf(record);
}

/** The row is a letter: its group is opened if it is the first of its signature. */
export function knowGroup(store: Store, row: Row): RecordRow {
  const { signature, pattern } = burialOf(row).death;
  const known = store.records.get(signature);
  if (known) return known;
  const record = { signature, pattern, life: newLife(store.now), notes: [], fixes: new Map() };
  store.records.set(signature, record);
  tell(store, row, openedEvent(record));
  return record;
}

/** The row was buried, and waits: a resolved or ignored group may open again. */
export function countBurial(store: Store, row: Row): void {
  const record = knowGroup(store, row);
  const { life, why } = afterBurial(record.life, store.now);
  record.life = life;
  if (why) tell(store, row, reopenedEvent(record.signature, why));
}

/** A redriven letter succeeded; an amendment since its death is the edit that helped. */
export function countFix(
  store: Store,
  row: Row,
  { resolution, amendment }: { readonly resolution: Resolution; readonly amendment: Amendment | undefined },
): void {
  const { death, at } = burialOf(row);
  const { fixes } = requireRecord(store, death.signature);
  const { kind, operationId, author } = resolution;
  const key = JSON.stringify([operationId ?? "", kind]);
  const before = fixes.get(key);
  const waitedMs = Math.max(0, store.now - at);
  const fix: GroupFix = compact({
    at: store.now,
    kind,
    count: (before?.count ?? 0) + 1,
    operationId,
    editId: amendment?.operationId,
    rule: amendment?.rule,
    author,
    waitedMs: Math.min(waitedMs, before?.waitedMs ?? waitedMs),
  });
  fixes.set(key, Object.freeze(fix));
}

/** At the end of a step with successes: resolves groups without waiting letters. */
export function resolveGroups(store: Store, succeeded: readonly Row[]): void {
  const lastOf = new Map(succeeded.map((row) => [burialOf(row).death.signature, row]));
  for (const [signature, row] of lastOf) {
    const record = requireRecord(store, signature);
    const resolved = afterLastSuccess(record.life, store.now);
    if (resolved === record.life || isWaiting(store, signature)) continue;
    record.life = resolved;
    tell(store, row, resolvedEvent(signature));
  }
}

function isWaiting(store: Store, signature: string): boolean {
  return [...store.groups.values()].some((group) => group.signature === signature && group.count > 0);
}

function tell(store: Store, { queue, itemId }: Row, event: EventDraft): void {
  recordEvent(store, { ...event, queue: queue.name, itemId });
}

const FIXES_MAX = 10;

function recordOf({ signature, pattern, life, notes, fixes }: RecordRow): GroupRecord {
  const { newLetters: _newLetters, recent: _recent, ...shown } = life;
  return {
    signature,
    pattern,
    ...shown,
    notes: [...notes],
    fixes: [...fixes.values()]
      .reverse()
      .sort((a, b) => b.at - a.at)
      .slice(0, FIXES_MAX),
  };
}
