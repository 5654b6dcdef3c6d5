/** Masks phrases: `key=value` fields, files in messages of the operating system, SQL statements and lists. */
import { type Hit, type Masker, replaceAll } from "./masker.ts";
import { SQL_VERBS, SQL_WORDS } from "./vocabulary.ts";

/** Masks the values of `cart=17 shop=north till=10.0.0.1`; the keys belong to the message. */
export const FIELD_MASKER: Masker = { masks: ["val", "bool", "name"], mask: maskFields };

/** Begins with `=`, because that is fast for texts without fields. */
const FIELD = /=(?<=[A-Za-z_][\w.-]{0,60}=)(?![=>~<])[^\s,;()&"'`[\]{}<>|]{1,400}/g;
/** The state of a single item: `x is true`, `ready: false`, `visible = true`. */
const ANSWER = /((?<![^\s])(?:is|was)|\w:|=) (true|false)(?![\w.<])/g;
/** Keys whose values identify the failure. */
const CODE_KEY =
  /(?:^|[^A-Za-z])(?:exit|status|code|errno)$|[a-z](?:Code|Status|Errno)$|(?:exit|status|error)code$/;
const KEY_CHARS_MAX = 12;

/** A package and its version: `left-pad>=1.3`, `left-pad==1.3.0`. */
const REQUIREMENT =
  /(?<![\w.<>"'`-])[A-Za-z][\w.-]{1,80}(?:\[[\w,-]{1,80}\])?(?:[=!~<>]=|===)[\w.*=]{1,60}(?![\w=])/g;

const COMPARES = /[=!~<>]=/;

function maskFields(text: string, hit?: Hit): string {
  const fields = text.includes("=") ? maskPairs(maskRequirements(text, hit), hit) : text;
  return / (?:true|false)/.test(fields) ? maskAnswers(fields, hit) : fields;
}

function maskRequirements(text: string, hit?: Hit): string {
  if (!COMPARES.test(text)) return text;
  return replaceAll(text, REQUIREMENT, (match) => {
    hit?.("name", match, "<name>");
    return "<name>";
  });
}

function maskAnswers(text: string, hit?: Hit): string {
  return text.replace(ANSWER, (_match, before: string, answer: string) => {
    hit?.("bool", answer, "<bool>");
    return `${before} <bool>`;
  });
}

function maskPairs(text: string, hit?: Hit): string {
  return text.replace(FIELD, (match: string, at: number) => {
    if (CODE_KEY.test(text.slice(Math.max(0, at - KEY_CHARS_MAX), at))) return match;
    hit?.("val", match.slice(1), "<val>");
    return "=<val>";
  });
}

/**
 * Masks the file in `gzip: notes: No such file or directory`. It is found by its position, because it has no
 * quotes.
 */
export const SYSTEM_ERROR_MASKER: Masker = { masks: ["path"], mask: maskFiles };

const REASON =
  "(?:no such file or directory|permission denied|is a directory|not a directory|file exists|directory not empty|operation not permitted|read-only file system|text file busy|file name too long|too many levels of symbolic links)";
/** The text before the file: the name of a program or a file operation. "error: open: …" names no file. */
const BEFORE =
  "(?:(?:^|[\\s(])(?!(?:error|fatal|warning|err):)[a-z][\\w.+-]{0,40}: |\\b(?:access|chdir|chmod|copy|create|delete|exec|execute|find|include|link|load|locate|lstat|mkdir|move|open|opening|read|reading|remove|rename|run|stat|unlink|write|writing) )";
const FILE = new RegExp(`(?<=${BEFORE})[^\\s:<>"'\`()]{1,255}(?=: ${REASON}(?!\\w))`, "gi");
const SYSTEM_ERROR_HINT = new RegExp(`: ${REASON}`, "i");

function maskFiles(text: string, hit?: Hit): string {
  if (!SYSTEM_ERROR_HINT.test(text)) return text;
  return replaceAll(text, FILE, (file) => {
    hit?.("path", file, "<path>");
    return "<path>";
  });
}

/** Masks SQL statements in capitals: which statement failed differs from item to item. */
export const STATEMENT_MASKER: Masker = { masks: ["sql"], mask: maskStatements };

/** Consecutive whole words in capitals; neither part of a longer word nor a whole quotation. */
const CAPITALS =
  /(?<![\w\-./\\@%+~$#*<>"'`\u0080-\uffff])[A-Z]{2,}(?: (?:[A-Z]{2,}|\.{2,3}))*(?![\w\-/\\@%+~$#*<>\u0080-\uffff]|[.-]+[\w/\\@%+~$#*<>\u0080-\uffff])/g;
const STATEMENT_HINT = /[A-Z][A-Z]/;

function maskStatements(text: string, hit?: Hit): string {
  if (!STATEMENT_HINT.test(text)) return text;
  return replaceAll(text, CAPITALS, (match) => {
    if (!isStatement(match)) return undefined;
    hit?.("sql", match, "<sql>");
    return "<sql>";
  });
}

/** Whether words in capitals are SQL: a statement has a word that only SQL uses, unlike `ERROR` or `NOT FOUND`. */
function isStatement(match: string): boolean {
  const parts = match.split(" ");
  if (parts[0] === "NOT" || !parts.some((part) => SQL_VERBS.has(part))) return false;
  return parts.every((part) => SQL_WORDS.has(part) || SQL_VERBS.has(part) || part.startsWith("."));
}

/** Collapses a list of operands into one operand, and a call with arguments into a call. */
export const LIST_MASKER: Masker = { masks: ["list"], mask: collapse };

const CALL = /<name>\([^()<>"'`]{1,200}\)/g;
const TYPES =
  /(?:<name>|\btime|\btimestamp) with(?:out)? time zone\b|(?:<name>|\bdouble) precision\b|(?:<name>|\bcharacter|\bbit) varying\b|<name>(?:\(<num>\)|\[\])+/g;
const MASKS = /(?<![\w/@])([A-Za-z_/@]{0,30}<[a-z]{2,5}>)(?:(?:[,;|]? |[,;:|./#-]|, ?)\1)+/g;
const QUOTED = /((["'`])<str>\2)(?:(?:(?:,|,? and|,? or) |\|)\1)+/g;
const AND_MORE = /(?<![\w\-./\\@%+~$#*<>\u0080-\uffff])(?:[\w$]{1,100}, ){2,50}(?=and <num> more)/g;
const LIST_HINT =
  /<[a-z]{2,5}>["'`]?[ ,;:|./#-]{1,6}(?:and |or )?["'`]?[A-Za-z_/@]{0,30}<|<name>\(|<name>\[| zone| more\b|precision|varying/;

/** Each round collapses one level of nested lists. */
const ROUNDS_MAX = 4;

function collapse(text: string, hit?: Hit): string {
  let lists = text;
  for (let round = 0; round < ROUNDS_MAX && LIST_HINT.test(lists); round += 1) {
    const before = lists;
    lists = collapseOnce(lists);
    if (lists === before) break;
  }
  if (lists !== text) hit?.("list", text, lists);
  return lists;
}

function collapseOnce(text: string): string {
  const masks = text.replace(MASKS, "$1").replace(QUOTED, "$1");
  const lists = masks.includes("> more") ? masks.replace(AND_MORE, "<list>, ") : masks;
  return lists.replace(CALL, "<name>()").replace(TYPES, "<name>");
}
