/** Statements of SQL in capitals: which one it was is the database's operand. */
import { type Hit, type Masker, replaceAll } from "./masker.ts";
import { SQL_VERBS, SQL_WORDS } from "./vocabulary.ts";

export const STATEMENT_MASKER: Masker = { masks: ["sql"], mask: maskStatements };

/** Whole words in capitals, one after the other; no part of a longer word, and not the whole of a quotation. */
const CAPITALS =
  /(?<![\w\-./\\@%+~$#*<>"'`\u0080-\uffff])[A-Z]{2,}(?: (?:[A-Z]{2,}|\.{2,3}))*(?![\w\-/\\@%+~$#*<>\u0080-\uffff]|[.-]+[\w/\\@%+~$#*<>\u0080-\uffff])/g;
const WORTH_A_LOOK = /[A-Z][A-Z]/;

function maskStatements(text: string, hit?: Hit): string {
  if (!WORTH_A_LOOK.test(text)) return text;
  return replaceAll(text, CAPITALS, (match) => {
    if (!isStatement(match)) return undefined;
    hit?.("sql", match, "<sql>");
    return "<sql>";
  });
}

/** `ERROR` and `NOT FOUND` are said by everyone, `ON` and `TO` too; a statement has a word that only SQL has. */
function isStatement(match: string): boolean {
  const parts = match.split(" ");
  if (parts[0] === "NOT" || !parts.some((part) => SQL_VERBS.has(part))) return false;
  return parts.every((part) => SQL_WORDS.has(part) || SQL_VERBS.has(part) || part.startsWith("."));
}
