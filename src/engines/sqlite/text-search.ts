/**
 * Finds letters by a text in their last message. Searches the few message templates first (see
 * message-template.ts): a template that contains the text decides for all of its letters. Letters are checked
 * one by one only if the text may be part of a parameter, or if they are not indexed yet.
 */
import type { LetterFilter } from "../../engine.ts";
import { lastFailureOf } from "../sql/attempts.ts";
import { allOf, condition, groupConditions } from "../sql/conditions.ts";
import type { Fragment } from "../sql/db.ts";
import { DIALECT } from "./dialect.ts";
import { BLANK, type Candidate, candidatesOf } from "./message-template.ts";
import type { Session } from "./session.ts";
import { countUnindexed, INDEXED_TO } from "./text-index.ts";

/** The dead letters that contain a text. */
export interface TextFinds {
  /** Templates whose letters all contain the text. */
  readonly sure: readonly number[];
  /** The number of letters whose template matches, whatever their parameters are. */
  readonly sureCount: number;
  /** SQL for the other letters that contain the text, with a column `no`. */
  readonly others: Fragment;
  /** Whether many letters must be checked to find the others. */
  readonly isLong: boolean;
}

/**
 * If there are more unindexed letters, or more templates that contain the text, scanning every letter is as
 * fast.
 */
const UNINDEXED_MAX = 1999;
const TEMPLATES_MAX = 100_000;
/** If there are more templates, scanning the letters finds a page without a total as fast. */
const TEMPLATES_OF_PAGE_MAX = 2000;

/** Finds the letters of the filter's groups that contain its text. Null if every message must be checked. */
export function findText(session: Session, filter: LetterFilter, isCounted: boolean): TextFinds | null {
  const text = filter.text?.toLowerCase() ?? "";
  if (text === "" || text.includes(BLANK) || text.includes("\0")) return null;
  if (countUnindexed(session) > UNINDEXED_MAX) return null;
  const max = isCounted ? TEMPLATES_MAX : TEMPLATES_OF_PAGE_MAX;
  const candidates = candidatesOf(text).map((candidate) => ({
    candidate,
    rows: templatesWith(session, filter, candidate, max),
  }));
  const open = openTemplates(session, filter, max);
  if ([open, ...candidates.map(({ rows }) => rows)].some((rows) => rows.length > max)) return null;
  const certain = candidates
    .filter(({ candidate }) => candidate.parameters.length === 0)
    .flatMap(({ rows }) => rows);
  const sure = countsOf(certain);
  const isLeft = ({ no }: TemplateRow) => !sure.has(no);
  const questions = [
    ...candidates.flatMap(({ candidate, rows }) => questionsOf(candidate, rows.filter(isLeft))),
    { parameters: [], isExact: false, templates: countsOf(open.filter(isLeft)) },
  ].filter(({ templates }) => templates.size > 0);
  return {
    sure: [...sure.keys()],
    sureCount: sumOf(sure),
    others: eitherOf([
      ...questions.map((question) => lettersWith(text, question)),
      ...unindexedWith(text, filter),
    ]),
    isLong: questions.some((question) => !isIndexed(question) && sumOf(question.templates) > LONG),
  };
}

/** `isLong` is set if more letters than this must be checked. */
const LONG = 20_000;

interface TemplateRow {
  readonly no: number;
  readonly count: number;
  readonly isOpen: boolean;
  /** The number of parameters; counted only if the search needs it. */
  readonly blanks: number;
}

/** The number of letters of each template, by template number. */
type Templates = ReadonlyMap<number, number>;

function countsOf(rows: readonly TemplateRow[]): Templates {
  return new Map(rows.map(({ no, count }) => [no, count]));
}

function sumOf(templates: Templates): number {
  let sum = 0;
  for (const count of templates.values()) sum += count;
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

/** Returns at most `max + 1` templates, so that the caller can detect that there are too many. */
function templatesWith(
  session: Session,
  filter: LetterFilter,
  { text, parameters }: Candidate,
  max: number,
): readonly TemplateRow[] {
  const [from, has] = isLong(text)
    ? [
        "template_texts t CROSS JOIN message_templates w ON w.no = t.rowid",
        condition("t.text MATCH ?", phrase(text)),
      ]
    : ["message_templates w", condition("instr(w.text, ?) > 0", text)];
  return rowsOf(session, filter, { from, where: has, blanks: parameters.length === 0 ? "0" : BLANKS, max });
}

function openTemplates(session: Session, filter: LetterFilter, max: number): readonly TemplateRow[] {
  const from = "message_templates w INDEXED BY message_templates_open";
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
): readonly TemplateRow[] {
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

/** A search for letters of some templates whose parameters contain these parts. */
interface Question {
  readonly parameters: readonly string[];
  readonly templates: Templates;
  /** Whether the parameters alone decide; otherwise the message is checked too. */
  readonly isExact: boolean;
}

/**
 * The parameters alone decide if the text is entirely inside a parameter, or if the template has only one
 * parameter. Open templates are always searched separately.
 */
function questionsOf({ text, parameters }: Candidate, rows: readonly TemplateRow[]): readonly Question[] {
  if (parameters.length === 0) return [];
  const isClear = ({ blanks }: TemplateRow) => text === BLANK || (blanks === 1 && parameters.length === 1);
  const closed = rows.filter(({ isOpen }) => !isOpen);
  return [
    { parameters, isExact: true, templates: countsOf(closed.filter(isClear)) },
    { parameters, isExact: false, templates: countsOf(closed.filter((row) => !isClear(row))) },
  ];
}

/** If there are more letters than this, their parameters are searched with the index. */
const FEW_LETTERS = 2000;

function lettersWith(text: string, question: Question): Fragment {
  const { parameters, templates, isExact } = question;
  const numbers = JSON.stringify([...templates.keys()]);
  const from =
    isIndexed(question) && sumOf(templates) > FEW_LETTERS
      ? condition(BY_PARAMETERS, phrase(lookedUp(longestOf(parameters))), numbers)
      : condition(BY_TEMPLATE, numbers);
  const has = parameters.map((parameter) => condition("instr(s.parameters, ?) > 0", parameter));
  const where = allOf(isExact ? has : [...has, messageHas(text, "l.ref")]);
  const letters = isExact ? "" : "CROSS JOIN letters l ON l.no = s.no";
  const sql = `SELECT s.no AS no FROM ${from.sql} ${letters} WHERE ${where.sql}`;
  return condition(sql, ...from.values, ...where.values);
}

const BY_TEMPLATE =
  "json_each(?) w CROSS JOIN indexed_messages s INDEXED BY indexed_messages_by_template ON s.template = w.value";
const BY_PARAMETERS = `(SELECT rowid FROM parameter_texts WHERE parameter_texts MATCH ?) f
  CROSS JOIN indexed_messages s ON s.no = f.rowid AND s.template IN (SELECT value FROM json_each(?))`;

/**
 * Leaves out the blanks around a parameter if the rest is long enough, because many parameters have the same
 * beginning.
 */
function lookedUp(parameter: string): string {
  const bare = parameter.replaceAll(BLANK, "");
  return isLong(bare) ? bare : parameter;
}

function isIndexed({ parameters }: Question): boolean {
  return isLong(longestOf(parameters));
}

function longestOf(parameters: readonly string[]): string {
  return parameters.reduce((a, b) => (b.length > a.length ? b : a), "");
}

/** Selects letters that contain the text and are not indexed yet or marked to be indexed again. */
function unindexedWith(text: string, filter: LetterFilter): Fragment[] {
  const where = allOf([groupConditions(DIALECT, filter), messageHas(text, "l.ref")]);
  return [
    `letters l CROSS JOIN groups g ON g.no = l.grp WHERE l.no > ${INDEXED_TO}`,
    "unindexed_letters u CROSS JOIN letters l ON l.no = u.no CROSS JOIN groups g ON g.no = l.grp WHERE 1",
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

/**
 * Non-ASCII characters whose lower case is at least partly ASCII: the Kelvin sign and the dotted capital I.
 */
const FOLDED = "instr(failure, char(0x212a)) > 0 OR instr(failure, char(0x130)) > 0";

/** The condition that an item's last message contains a lower-case text. Plain text is searched in the JSON first. */
export function messageHas(text: string, ref: string): Fragment {
  const { sql, values } = PLAIN_TEXT.test(text)
    ? condition(`(instr(lower(failure), ?) > 0 OR ${FOLDED})`, text)
    : condition("1");
  const has = "has_text(json_extract(failure, '$.error_message'), ?)";
  return condition(`EXISTS (SELECT 1 FROM ${lastFailureOf(ref)} WHERE ${sql} AND ${has})`, ...values, text);
}
