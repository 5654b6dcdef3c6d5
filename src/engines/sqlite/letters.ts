/** Reading letters from SQLite: the rows under their numbers, and everything that their items keep, a page in one go. */
import type { StoredLetter } from "../../engine.ts";
import { compact } from "../../item/failure.ts";
import {
  artifactsFromJson,
  type Evidence,
  type LetterNote,
  type Resolution,
  type ResolutionKind,
} from "../../item/letter.ts";
import type { ItemState } from "../../item/state.ts";
import { assert } from "../../kit/assert.ts";
import type { Json, JsonObject } from "../../kit/json.ts";
import { listAmendments } from "./amendments.ts";
import { type FailureHistory, historiesOf } from "./attempts.ts";
import { byRef, notesOf } from "./notes.ts";
import type { Session } from "./session.ts";

/** Where letters lie: those that wait, and those whose story has ended. */
export type LetterTable = "letters" | "closed";

/** The letter of an item, also a closed one; null when it has none. */
export function readLetter(session: Session, ref: number): StoredLetter | null {
  const row =
    session.get<LetterRow>(`${letterSql("letters")} WHERE l.ref = ?`, ref) ??
    session.get<LetterRow>(`${letterSql("closed")} WHERE l.ref = ?`, ref);
  return row === undefined ? null : letterOf(session, row, keptOf(session, [row.ref]));
}

/** The letters with these numbers, which were just found there, in the same order. */
export function readLetters(
  session: Session,
  found: readonly { readonly table: LetterTable; readonly no: number }[],
  withHistory = true,
): StoredLetter[] {
  const rows = new Map([...rowsOf(session, "letters", found), ...rowsOf(session, "closed", found)]);
  const refs = [...rows.values()].map((row) => row.ref);
  const kept = withHistory ? keptOf(session, refs) : null;
  return found.map(({ no }) => {
    const row = rows.get(no);
    assert(row, `letter ${no} vanished inside one read`);
    return letterOf(session, row, kept);
  });
}

function rowsOf(
  session: Session,
  table: LetterTable,
  found: readonly { readonly table: LetterTable; readonly no: number }[],
): [number, LetterRow][] {
  const numbers = found.filter((one) => one.table === table).map((one) => one.no);
  if (numbers.length === 0) return [];
  const sql = `${letterSql(table)} WHERE l.no IN (SELECT value FROM json_each(?))`;
  return session.all<LetterRow>(sql, JSON.stringify(numbers)).map((row) => [row.no, row]);
}

/** What items keep beside their rows. */
interface Kept {
  readonly histories: ReadonlyMap<number, FailureHistory>;
  readonly evidence: ReadonlyMap<number, readonly Evidence[]>;
  readonly notes: ReadonlyMap<number, readonly LetterNote[]>;
}

function keptOf(session: Session, refs: readonly number[]): Kept {
  return {
    histories: historiesOf(session, refs),
    evidence: evidenceOf(session, refs),
    notes: notesOf(session, refs),
  };
}

interface LetterRow {
  readonly no: number;
  readonly ref: number;
  readonly queue: string;
  readonly item_id: string;
  readonly data: string;
  readonly state: ItemState;
  readonly revision: number;
  readonly redrives: number;
  readonly reason: string;
  readonly artifacts: string | null;
  readonly toxic: number;
  readonly signature: string;
  readonly pattern: string;
  readonly eligible: number;
  readonly review: number;
  readonly kind: ResolutionKind | null;
  readonly closed_at: number;
  readonly author: string | null;
  readonly why: string | null;
  readonly operation: string | null;
}

function letterSql(table: LetterTable): string {
  const resolution = "l.kind, l.closed_at, l.author, l.why, l.operation";
  return `
    SELECT l.no, i.ref, q.name AS queue, i.item_id, p.data, i.state, i.revision, i.redrives, l.reason, l.artifacts, l.toxic,
           g.signature, g.pattern, g.eligible, g.review, ${table === "closed" ? resolution : "NULL AS kind"}
      FROM ${table} l JOIN items i ON i.ref = l.ref JOIN payloads p ON p.ref = l.ref
           JOIN groups g ON g.no = l.grp JOIN queues q ON q.no = i.queue`;
}

/** Without what the item keeps when that is null. */
function letterOf(session: Session, row: LetterRow, kept: Kept | null): StoredLetter {
  const history = kept?.histories.get(row.ref);
  const failureHistory = history?.failures ?? [];
  return compact({
    ref: row.ref,
    burial: row.no,
    itemId: row.item_id,
    itemData: JSON.parse(row.data) as Json,
    firstAttempt: history?.firstAttempt ?? 0,
    lastAttempt: history?.lastAttempt ?? 0,
    failureCount: failureHistory.length,
    failureHistory,
    errorSignature: row.signature,
    errorPattern: row.pattern,
    reprocessEligible: row.eligible === 1,
    manualReviewRequired: row.review === 1,
    worktreeArtifacts:
      row.artifacts === null ? undefined : artifactsFromJson(JSON.parse(row.artifacts) as JsonObject),
    jobId: row.queue,
    queue: row.queue,
    state: row.state,
    reason: row.reason,
    revision: row.revision,
    redriveCount: row.redrives,
    toxic: row.toxic === 1 ? true : undefined,
    evidence: kept?.evidence.get(row.ref),
    amendments: row.revision === 1 || !kept ? undefined : listAmendments(session, row.ref),
    notes: kept?.notes.get(row.ref),
    resolution: resolutionOf(row),
  });
}

function evidenceOf(session: Session, refs: readonly number[]): ReadonlyMap<number, Evidence[]> {
  const rows = session.all<Evidence & { readonly ref: number }>(
    `SELECT e.ref, e.at, e.attempt AS attemptNumber, e.outcome, e.note
       FROM json_each(?) refs CROSS JOIN evidence e ON e.ref = refs.value ORDER BY e.rowid`,
    JSON.stringify(refs),
  );
  return byRef(rows);
}

function resolutionOf({ kind, closed_at, author, why, operation }: LetterRow): Resolution | undefined {
  if (kind === null) return undefined;
  return compact({
    kind,
    at: closed_at,
    author: author ?? undefined,
    reason: why ?? undefined,
    operationId: operation ?? undefined,
  });
}
