/**
 * Finds letters by a text in their last message. Searches the few wordings (message templates; see wording.ts) first: a
 * wording that contains the text decides for all of its letters. Letters are checked one by one only if the text may be part
 * of a figure, or if they are not indexed yet.
 */
import type { LetterFilter } from "../../engine.ts";
import { lastFailureOf } from "../sql/attempts.ts";
import { allOf, condition, groupConditions } from "../sql/conditions.ts";
import type { Fragment } from "../sql/db.ts";
import { DIALECT } from "./dialect.ts";
import type { Session } from "./session.ts";
import { countUnread, READ_TO } from "./text-index.ts";
import { BLANK, type Trace, tracesOf } from "./wording.ts";

/** The dead letters that contain a text. */
export interface TextFinds {
  /** Wordings whose letters all contain the text. */
  readonly sure: readonly number[];
  /** The number of letters of the sure wordings. */
  readonly sureCount: number;
  /** SQL for the other letters that contain the text, with a column `no`. */
  readonly others: Fragment;
  /** Whether many letters must be checked to find the others. */
  readonly isLong: boolean;
}

/** With more unindexed letters, or more wordings that contain the text, scanning every letter is as fast. */
const UNREAD_MAX = 1999;
const WORDINGS_MAX = 100_000;
/** With more wordings, a page without a total is found as fast by scanning the letters. */
const WORDINGS_OF_PAGE_MAX = 2000;

/** Finds the letters of the filter's groups that contain its text. Null if every message must be checked. */
export function findText(session: Session, filter: LetterFilter, isCounted: boolean): TextFinds | null {
  const text = filter.text?.toLowerCase() ?? "";
  if (text === "" || text.includes(BLANK) || text.includes("\0")) return null;
  if (countUnread(session) > UNREAD_MAX) return null;
  const max = isCounted ? WORDINGS_MAX : WORDINGS_OF_PAGE_MAX;
  const traces = tracesOf(text).map((trace) => ({ trace, rows: wordingsWith(session, filter, trace, max) }));
  const open = openWordings(session, filter, max);
  if ([open, ...traces.map(({ rows }) => rows)].some((rows) => rows.length > max)) return null;
  const certain = traces.filter(({ trace }) => trace.figures.length === 0).flatMap(({ rows }) => rows);
  const sure = countsOf(certain);
  const isLeft = ({ no }: WordingRow) => !sure.has(no);
  const questions = [
    ...traces.flatMap(({ trace, rows }) => questionsOf(trace, rows.filter(isLeft))),
    { figures: [], isExact: false, wordings: countsOf(open.filter(isLeft)) },
  ].filter(({ wordings }) => wordings.size > 0);
  return {
    sure: [...sure.keys()],
    sureCount: sumOf(sure),
    others: eitherOf([
      ...questions.map((question) => lettersWith(text, question)),
      ...unreadWith(text, filter),
    ]),
    isLong: questions.some((question) => !isIndexed(question) && sumOf(question.wordings) > LONG),
  };
}

/** `isLong` is set if more letters than this must be checked. */
const LONG = 20_000;

interface WordingRow {
  readonly no: number;
  readonly count: number;
  readonly isOpen: boolean;
  /** The number of figures; counted only if the search needs it. */
  readonly blanks: number;
}

/** The number of letters of each wording, by wording number. */
type Wordings = ReadonlyMap<number, number>;

function countsOf(rows: readonly WordingRow[]): Wordings {
  return new Map(rows.map(({ no, count }) => [no, count]));
}

function sumOf(wordings: Wordings): number {
  let sum = 0;
  for (const count of wordings.values()) sum += count;
  return sum;
}

/** The trigram index finds texts of three characters or more. */
const INDEXED_CHARS_MIN = 3;

function isLong(text: string): boolean {
  return [...text].length >= INDEXED_CHARS_MIN;
}

/** Quotes a text, so that FTS5 searches for it literally. */
function phrase(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

const BLANKS = "length(w.text) - length(replace(w.text, char(1), ''))";

/** Returns at most `max + 1` wordings, so that the caller can detect that there are too many. */
function wordingsWith(
  session: Session,
  filter: LetterFilter,
  { text, figures }: Trace,
  max: number,
): readonly WordingRow[] {
  const [from, has] = isLong(text)
    ? ["wording_texts t CROSS JOIN wordings w ON w.no = t.rowid", condition("t.text MATCH ?", phrase(text))]
    : ["wordings w", condition("instr(w.text, ?) > 0", text)];
  return rowsOf(session, filter, { from, where: has, blanks: figures.length === 0 ? "0" : BLANKS, max });
}

function openWordings(session: Session, filter: LetterFilter, max: number): readonly WordingRow[] {
  const from = "wordings w INDEXED BY wordings_open";
  return rowsOf(session, filter, { from, where: condition("w.is_open = 1"), blanks: "0", max });
}

interface Asked {
  readonly from: string;
  readonly where: Fragment;
  readonly blanks: string;
  readonly max: number;
}

/** Uses `packed`, because there may be many rows. */
function rowsOf(
  session: Session,
  filter: LetterFilter,
  { from, where, blanks, max }: Asked,
): readonly WordingRow[] {
  const { sql, values } = allOf([where, condition("w.count > 0"), groupConditions(DIALECT, filter)]);
  const groups = sql.includes("g.") ? "CROSS JOIN groups g ON g.no = w.grp" : "";
  return session
    .packed<[number, number, number, number]>(
      "no, count, is_open, blanks",
      `FROM (SELECT w.no, w.count, w.is_open, ${blanks} AS blanks FROM ${from} ${groups} WHERE ${sql} LIMIT ?)`,
      ...values,
      max + 1,
    )
    .map(([no, count, isOpen, found]) => ({ no, count, isOpen: isOpen === 1, blanks: found }));
}

/** A search for letters of some wordings whose figures contain these parts. */
interface Question {
  readonly figures: readonly string[];
  readonly wordings: Wordings;
  /** Whether the figures decide alone; otherwise the message is checked too. */
  readonly isExact: boolean;
}

/**
 * The figures decide alone if the text is entirely inside a figure, or if the wording has only one figure. Open wordings are
 * always searched separately.
 */
function questionsOf({ text, figures }: Trace, rows: readonly WordingRow[]): readonly Question[] {
  if (figures.length === 0) return [];
  const isClear = ({ blanks }: WordingRow) => text === BLANK || (blanks === 1 && figures.length === 1);
  const closed = rows.filter(({ isOpen }) => !isOpen);
  return [
    { figures, isExact: true, wordings: countsOf(closed.filter(isClear)) },
    { figures, isExact: false, wordings: countsOf(closed.filter((row) => !isClear(row))) },
  ];
}

/** With more letters than this, their figures are searched by the index. */
const FEW_LETTERS = 2000;

function lettersWith(text: string, question: Question): Fragment {
  const { figures, wordings, isExact } = question;
  const numbers = JSON.stringify([...wordings.keys()]);
  const from =
    isIndexed(question) && sumOf(wordings) > FEW_LETTERS
      ? condition(BY_FIGURES, phrase(lookedUp(longestOf(figures))), numbers)
      : condition(BY_WORDING, numbers);
  const has = figures.map((figure) => condition("instr(s.figures, ?) > 0", figure));
  const where = allOf(isExact ? has : [...has, messageHas(text, "l.ref")]);
  const letters = isExact ? "" : "CROSS JOIN letters l ON l.no = s.no";
  const sql = `SELECT s.no AS no FROM ${from.sql} ${letters} WHERE ${where.sql}`;
  return condition(sql, ...from.values, ...where.values);
}

const BY_WORDING = "json_each(?) w CROSS JOIN said s INDEXED BY said_by_wording ON s.wording = w.value";
const BY_FIGURES = `(SELECT rowid FROM said_figures WHERE said_figures MATCH ?) f
  CROSS JOIN said s ON s.no = f.rowid AND s.wording IN (SELECT value FROM json_each(?))`;

/** Leaves out the blanks around a figure if the rest is long enough, because very many figures begin alike. */
function lookedUp(figure: string): string {
  const bare = figure.replaceAll(BLANK, "");
  return isLong(bare) ? bare : figure;
}

function isIndexed({ figures }: Question): boolean {
  return isLong(longestOf(figures));
}

function longestOf(figures: readonly string[]): string {
  return figures.reduce((a, b) => (b.length > a.length ? b : a), "");
}

/** The letters that are not indexed yet, or marked to be indexed again, and contain the text. */
function unreadWith(text: string, filter: LetterFilter): Fragment[] {
  const where = allOf([groupConditions(DIALECT, filter), messageHas(text, "l.ref")]);
  return [
    `letters l CROSS JOIN groups g ON g.no = l.grp WHERE l.no > ${READ_TO}`,
    "unread u CROSS JOIN letters l ON l.no = u.no CROSS JOIN groups g ON g.no = l.grp WHERE 1",
  ].map((from) => condition(`SELECT l.no AS no FROM ${from} AND ${where.sql}`, ...where.values));
}

/** Uses UNION, because a letter may match in two ways. */
function eitherOf(conditions: readonly Fragment[]): Fragment {
  return {
    sql: conditions.map(({ sql }) => sql).join(" UNION "),
    values: conditions.flatMap(({ values }) => values),
  };
}

/** Text that JSON does not escape. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

/** Characters outside ASCII whose lower case is at least partly ASCII: the Kelvin sign and the dotted capital I. */
const FOLDED = "instr(failure, char(0x212a)) > 0 OR instr(failure, char(0x130)) > 0";

/** The condition that an item's last message contains a lower-case text. Plain text is searched in the JSON first. */
export function messageHas(text: string, ref: string): Fragment {
  const { sql, values } = PLAIN_TEXT.test(text)
    ? condition(`(instr(lower(failure), ?) > 0 OR ${FOLDED})`, text)
    : condition("1");
  const has = "has_text(json_extract(failure, '$.error_message'), ?)";
  return condition(`EXISTS (SELECT 1 FROM ${lastFailureOf(ref)} WHERE ${sql} AND ${has})`, ...values, text);
}
