/**
 * Indexes the messages of letters for text search, outside the hot path: burials do not write to the index.
 * Searches and maintenance index new letters in bounded steps; letters that are not indexed yet are scanned.
 */
import { createHash } from "node:crypto";
import { RedriveError } from "../../errors.ts";
import { lastFailureOf } from "../sql/attempts.ts";
import { templateOf } from "./message-template.ts";
import type { Session, Value } from "./session.ts";

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
  while (countUnindexed(session) > leaveMax) {
    if (performance.now() >= end || !tryToIndex(session)) return true;
    await new Promise(setImmediate); // lets other work of this process run
  }
  return false;
}

/**
 * Marks letters to be indexed again, because they are waiting again or their last message may have changed.
 */
export function indexAgain(session: Session, numbers: readonly number[]): void {
  const chosen = JSON.stringify(numbers);
  session.run("DELETE FROM indexed_messages WHERE no IN (SELECT value FROM json_each(?))", chosen);
  session.run(
    `INSERT OR IGNORE INTO unindexed_letters (no) SELECT value FROM json_each(?) WHERE value <= ${INDEXED_TO}`,
    chosen,
  );
}

/** Counts letters that are not indexed: new ones and marked ones, each up to `STEP_LETTERS_MAX`. */
export function countUnindexed(session: Session): number {
  const row = session.get<{ n: number }>(
    `SELECT (SELECT count(*) FROM (SELECT 1 FROM letters WHERE no > ${INDEXED_TO} LIMIT ${STEP_LETTERS_MAX}))
          + (SELECT count(*) FROM (SELECT 1 FROM unindexed_letters LIMIT ${STEP_LETTERS_MAX})) AS n`,
  );
  return row?.n ?? 0;
}

/** The number up to which letters are indexed. */
export const INDEXED_TO = "(SELECT no FROM indexed_to)";

const EXPECTED = ["store_busy", "store_readonly", "store_full", "store_unavailable"];

function tryToIndex(session: Session): boolean {
  try {
    session.exec("BEGIN IMMEDIATE");
  } catch (error) {
    return isExpected(error);
  }
  try {
    indexStep(session);
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

interface Unindexed {
  readonly no: number;
  readonly grp: number;
  readonly message: string | null;
}

/** Call in a transaction. Indexes the marked letters, then the next new ones. */
function indexStep(session: Session): void {
  const again = unindexedOf(session, "unindexed_letters u CROSS JOIN letters l ON l.no = u.no", "1");
  write(session, again);
  forgetUnindexed(session, again);
  const next = unindexedOf(session, "letters l", `l.no > ${INDEXED_TO}`);
  write(session, next);
  const last = next.at(-1)?.no;
  if (last !== undefined) session.run("UPDATE indexed_to SET no = ?", last);
  forgetTemplates(session);
}

function unindexedOf(session: Session, from: string, where: string): Unindexed[] {
  const rows = session.tuples<[no: number, grp: number, failure: string | null]>(
    `SELECT l.no, l.grp, json_extract(${lastFailureOf("l.ref")}, '$.error_message') FROM ${from}
      WHERE ${where} ORDER BY l.no LIMIT ${STEP_LETTERS_MAX}`,
  );
  return rows.map(([no, grp, message]) => ({ no, grp, message }));
}

function forgetUnindexed(session: Session, read: readonly Unindexed[]): void {
  const numbers = JSON.stringify(read.map(({ no }) => no));
  session.run("DELETE FROM unindexed_letters WHERE no IN (SELECT value FROM json_each(?))", numbers);
}

function write(session: Session, letters: readonly Unindexed[]): void {
  const templates = new TemplateNumbers(session);
  const indexed: Value[][] = [];
  const searched: Value[][] = [];
  for (const { no, grp, message } of letters) {
    // A message that is not text is indexed as empty, so that it is never found.
    const { text, parameters, isOpen } = templateOf(typeof message === "string" ? message : "");
    indexed.push([no, templates.numberOf(grp, text, isOpen), parameters]);
    if (parameters !== "") searched.push([no, parameters]);
  }
  templates.write();
  session.insert("indexed_messages (no, template, parameters)", indexed);
  session.insert("parameter_texts (rowid, parameters)", searched);
}

/** Assigns numbers to templates, and counts the new letters of each. */
class TemplateNumbers {
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
    const sql = "SELECT no FROM message_templates WHERE grp = ? AND hash = ?";
    const found = session.get<{ no: number }>(sql, grp, hash)?.no;
    if (found !== undefined) return found;
    const { lastInsertRowid } = session.run(
      "INSERT INTO message_templates (grp, hash, text, is_open) VALUES (?, ?, ?, ?)",
      ...[grp, hash, text, isOpen ? 1 : 0],
    );
    session.run("INSERT INTO template_texts (rowid, text) VALUES (?, ?)", Number(lastInsertRowid), text);
    return Number(lastInsertRowid);
  }

  write(): void {
    for (const [no, count] of this.#counts) {
      this.#session.run("UPDATE message_templates SET count = count + ? WHERE no = ?", count, no);
    }
  }
}

/** Deletes templates that no letter has any more. */
function forgetTemplates(session: Session): void {
  const empty = session.tuples<[no: number]>(
    `SELECT no FROM message_templates WHERE count = 0 LIMIT ${STEP_LETTERS_MAX}`,
  );
  for (const [no] of empty) {
    session.run("DELETE FROM template_texts WHERE rowid = ?", no);
    session.run("DELETE FROM message_templates WHERE no = ?", no);
  }
}
