/**
 * Indexes the messages of letters for text search, off the hot path: burials do not write to the index. Searches and
 * maintenance index new letters in bounded steps; letters that are not indexed yet are scanned.
 */
import { createHash } from "node:crypto";
import { RedriveError } from "../../errors.ts";
import { lastFailureOf } from "../sql/attempts.ts";
import type { Session, Value } from "./session.ts";
import { wordingOf } from "./wording.ts";

/** The number of letters that one transaction indexes while other writers wait. */
const STEP_LETTERS_MAX = 2000;

/**
 * Indexes letters for about `forMs`, until at most `leaveMax` are left. Returns true if there are more. Stops if the store
 * is busy, full or not writable, because the index only affects speed.
 */
export async function catchUp(
  session: Session,
  { forMs, leaveMax }: { readonly forMs: number; readonly leaveMax: number },
): Promise<boolean> {
  const end = performance.now() + forMs;
  while (countUnread(session) > leaveMax) {
    if (performance.now() >= end || !tryToRead(session)) return true;
    await new Promise(setImmediate); // lets other work of this process run
  }
  return false;
}

/** Marks letters to be indexed again: they wait again, or their last message may have changed. */
export function readAgain(session: Session, numbers: readonly number[]): void {
  const chosen = JSON.stringify(numbers);
  session.run("DELETE FROM said WHERE no IN (SELECT value FROM json_each(?))", chosen);
  session.run(
    `INSERT OR IGNORE INTO unread (no) SELECT value FROM json_each(?) WHERE value <= ${READ_TO}`,
    chosen,
  );
}

/** Counts letters that are not indexed: new ones and marked ones, each up to `STEP_LETTERS_MAX`. */
export function countUnread(session: Session): number {
  const row = session.get<{ n: number }>(
    `SELECT (SELECT count(*) FROM (SELECT 1 FROM letters WHERE no > ${READ_TO} LIMIT ${STEP_LETTERS_MAX}))
          + (SELECT count(*) FROM (SELECT 1 FROM unread LIMIT ${STEP_LETTERS_MAX})) AS n`,
  );
  return row?.n ?? 0;
}

/** The number up to which letters are indexed. */
export const READ_TO = "(SELECT no FROM read_to)";

const EXPECTED = ["store_busy", "store_readonly", "store_full", "store_unavailable"];

function tryToRead(session: Session): boolean {
  try {
    session.exec("BEGIN IMMEDIATE");
  } catch (error) {
    return isExpected(error);
  }
  try {
    readStep(session);
    session.exec("COMMIT");
    return true;
  } catch (error) {
    rollBack(session);
    return isExpected(error);
  }
}

/** Returns false for an expected error; throws any other. */
function isExpected(error: unknown): false {
  if (error instanceof RedriveError && EXPECTED.includes(error.code)) return false;
  throw error;
}

function rollBack(session: Session): void {
  try {
    session.exec("ROLLBACK");
  } catch {
    // On a full disk, SQLite has already rolled back.
  }
}

interface Unread {
  readonly no: number;
  readonly grp: number;
  readonly message: string | null;
}

/** Call in a transaction. Indexes the letters that were marked, then the next new ones. */
function readStep(session: Session): void {
  const again = unreadOf(session, "unread u CROSS JOIN letters l ON l.no = u.no", "1");
  write(session, again);
  forgetUnread(session, again);
  const next = unreadOf(session, "letters l", `l.no > ${READ_TO}`);
  write(session, next);
  const last = next.at(-1)?.no;
  if (last !== undefined) session.run("UPDATE read_to SET no = ?", last);
  forgetWordings(session);
}

function unreadOf(session: Session, from: string, where: string): Unread[] {
  const rows = session.tuples<[no: number, grp: number, failure: string | null]>(
    `SELECT l.no, l.grp, json_extract(${lastFailureOf("l.ref")}, '$.error_message') FROM ${from}
      WHERE ${where} ORDER BY l.no LIMIT ${STEP_LETTERS_MAX}`,
  );
  return rows.map(([no, grp, message]) => ({ no, grp, message }));
}

function forgetUnread(session: Session, read: readonly Unread[]): void {
  const numbers = JSON.stringify(read.map(({ no }) => no));
  session.run("DELETE FROM unread WHERE no IN (SELECT value FROM json_each(?))", numbers);
}

function write(session: Session, letters: readonly Unread[]): void {
  const book = new WordingBook(session);
  const said: Value[][] = [];
  const figured: Value[][] = [];
  for (const { no, grp, message } of letters) {
    // A message that is not text is indexed as empty, so that it is never found.
    const { text, figures, isOpen } = wordingOf(typeof message === "string" ? message : "");
    said.push([no, book.numberOf(grp, text, isOpen), figures]);
    if (figures !== "") figured.push([no, figures]);
  }
  book.write();
  session.insert("said (no, wording, figures)", said);
  session.insert("said_figures (rowid, figures)", figured);
}

/** Assigns numbers to wordings, and counts the new letters of each. */
class WordingBook {
  readonly #session: Session;
  readonly #counts = new Map<number, number>();
  readonly #numbers = new Map<string, number>();

  constructor(session: Session) {
    this.#session = session;
  }

  numberOf(grp: number, text: string, isOpen: boolean): number {
    const key = `${grp} ${isOpen} ${text}`;
    const no = this.#numbers.get(key) ?? this.#find(grp, text, isOpen);
    this.#numbers.set(key, no);
    this.#counts.set(no, (this.#counts.get(no) ?? 0) + 1);
    return no;
  }

  #find(grp: number, text: string, isOpen: boolean): number {
    const session = this.#session;
    const hash = createHash("sha256").update(`${isOpen} ${text}`).digest("base64url").slice(0, 22);
    const sql = "SELECT no FROM wordings WHERE grp = ? AND hash = ?";
    const found = session.get<{ no: number }>(sql, grp, hash)?.no;
    if (found !== undefined) return found;
    const { lastInsertRowid } = session.run(
      "INSERT INTO wordings (grp, hash, text, is_open) VALUES (?, ?, ?, ?)",
      ...[grp, hash, text, isOpen ? 1 : 0],
    );
    session.run("INSERT INTO wording_texts (rowid, text) VALUES (?, ?)", Number(lastInsertRowid), text);
    return Number(lastInsertRowid);
  }

  write(): void {
    for (const [no, count] of this.#counts) {
      this.#session.run("UPDATE wordings SET count = count + ? WHERE no = ?", count, no);
    }
  }
}

/** Deletes wordings that no letter has any more. */
function forgetWordings(session: Session): void {
  const empty = session.tuples<[no: number]>(
    `SELECT no FROM wordings WHERE count = 0 LIMIT ${STEP_LETTERS_MAX}`,
  );
  for (const [no] of empty) {
    session.run("DELETE FROM wording_texts WHERE rowid = ?", no);
    session.run("DELETE FROM wordings WHERE no = ?", no);
  }
}
