/**
 * Reads the messages of letters into the index of texts, off the hot path: burying leaves it alone, and whoever searches
 * or maintains reads what has come since, a bounded piece at a time. What is not read yet is looked at letter by letter.
 */
import { createHash } from "node:crypto";
import { WorkError } from "../../errors.ts";
import { lastFailureOf } from "../sql/attempts.ts";
import type { Session, Value } from "./session.ts";
import { wordingOf } from "./wording.ts";

/** So many letters are read in one transaction, which others wait for. */
const STEP_LETTERS_MAX = 2000;

/**
 * Reads for about so long, until no more than so many are left. A store that is busy, full or cannot be written is left
 * as it is: the index is a matter of speed alone. True when there is more.
 */
export async function catchUp(
  session: Session,
  { forMs, leaveMax }: { readonly forMs: number; readonly leaveMax: number },
): Promise<boolean> {
  const end = performance.now() + forMs;
  while (countUnread(session) > leaveMax) {
    if (performance.now() >= end || !tryToRead(session)) return true;
    await new Promise(setImmediate); // others of this process have their turn
  }
  return false;
}

/** Letters that come back to those that wait, or may say something else than when they were read. */
export function readAgain(session: Session, numbers: readonly number[]): void {
  const chosen = JSON.stringify(numbers);
  session.run("DELETE FROM said WHERE no IN (SELECT value FROM json_each(?))", chosen);
  session.run(
    `INSERT OR IGNORE INTO unread (no) SELECT value FROM json_each(?) WHERE value <= ${READ_TO}`,
    chosen,
  );
}

/** How many letters are not in the index; no more than this are counted of those after the last that was read. */
export function countUnread(session: Session): number {
  const row = session.get<{ n: number }>(
    `SELECT (SELECT count(*) FROM (SELECT 1 FROM letters WHERE no > ${READ_TO} LIMIT ${STEP_LETTERS_MAX}))
          + (SELECT count(*) FROM (SELECT 1 FROM unread LIMIT ${STEP_LETTERS_MAX})) AS n`,
  );
  return row?.n ?? 0;
}

/** The number up to which letters were read. */
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

/** False, or the error itself when it is a fault of ours. */
function isExpected(error: unknown): false {
  if (error instanceof WorkError && EXPECTED.includes(error.code)) return false;
  throw error;
}

function rollBack(session: Session): void {
  try {
    session.exec("ROLLBACK");
  } catch {
    // A full disk makes SQLite roll back by itself.
  }
}

interface Unread {
  readonly no: number;
  readonly grp: number;
  readonly message: string | null;
}

/** In a transaction: those that are to be read again, then the next ones. */
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
    // A message that is no text is never found, and so is an empty one.
    const { text, figures, isOpen } = wordingOf(typeof message === "string" ? message : "");
    said.push([no, book.numberOf(grp, text, isOpen), figures]);
    if (figures !== "") figured.push([no, figures]);
  }
  book.write();
  session.insert("said (no, wording, figures)", said);
  session.insert("said_figures (rowid, figures)", figured);
}

/** The numbers of wordings, and how many letters of each come in. */
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

/** Wordings that nobody says any more. */
function forgetWordings(session: Session): void {
  const empty = session.tuples<[no: number]>(
    `SELECT no FROM wordings WHERE count = 0 LIMIT ${STEP_LETTERS_MAX}`,
  );
  for (const [no] of empty) {
    session.run("DELETE FROM wording_texts WHERE rowid = ?", no);
    session.run("DELETE FROM wordings WHERE no = ?", no);
  }
}
