/** Where a text stops being JSON. The engine's own messages name no place for most faults. */

const SPACE = /[ \t\n\r]*/y;
/** What does not stand for itself in a string: all before the space, the quote and the backslash. */
const SPECIAL = /[^ !#-[\]-\uffff]/g;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const PLAIN = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;

/** What may come next: a value, a key, or what follows one of them. */
type Expected = "value" | "first value" | "key" | "first key" | "colon" | "next" | "end";

/** The place in the text, counted from 0, at which nothing that JSON allows begins; null when all of it is JSON. */
export function faultOf(text: string): number | null {
  const open: ("{" | "[")[] = [];
  let expected: Expected = "value";
  let at = endOf(SPACE, text, 0) ?? 0;
  while (at < text.length) {
    const step = take(text, at, expected, open.at(-1));
    if (step === null) return at;
    if (step.opens) open.push(step.opens);
    if (step.closes) open.pop();
    expected = step.after === "next" && open.length === 0 ? "end" : step.after;
    at = endOf(SPACE, text, step.end) ?? step.end;
  }
  return expected === "end" ? null : text.length;
}

interface Taken {
  readonly end: number;
  readonly after: Expected;
  readonly opens?: "{" | "[";
  readonly closes?: boolean;
}

/** The token at the place, if it is one that may stand there. */
function take(text: string, at: number, expected: Expected, inside: "{" | "[" | undefined): Taken | null {
  const sign = text[at];
  const end = at + 1;
  if (expected === "colon") return sign === ":" ? { end, after: "value" } : null;
  if (sign === "}" && inside === "{" && (expected === "next" || expected === "first key"))
    return { end, after: "next", closes: true };
  if (sign === "]" && inside === "[" && (expected === "next" || expected === "first value"))
    return { end, after: "next", closes: true };
  if (expected === "next") return sign === "," ? { end, after: inside === "{" ? "key" : "value" } : null;
  if (expected === "key" || expected === "first key") return taken(endOfString(text, at), "colon");
  return expected === "end" ? null : takeValue(text, at);
}

function takeValue(text: string, at: number): Taken | null {
  if (text[at] === "{") return { end: at + 1, after: "first key", opens: "{" };
  if (text[at] === "[") return { end: at + 1, after: "first value", opens: "[" };
  return taken(endOfString(text, at) ?? endOf(PLAIN, text, at), "next");
}

/** From one special sign to the next: one pattern for a whole string needs as much of the stack as the string is long. */
function endOfString(text: string, at: number): number | null {
  if (text[at] !== '"') return null;
  let end: number | null = at + 1;
  while (end !== null) {
    SPECIAL.lastIndex = end;
    const special = SPECIAL.exec(text)?.index ?? text.length;
    if (text[special] === '"') return special + 1;
    end = endOf(ESCAPE, text, special);
  }
  return null;
}

function taken(end: number | null, after: Expected): Taken | null {
  return end === null ? null : { end, after };
}

function endOf(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

/** Line and column of a place, counted from 1. */
export function lineAndColumn(text: string, at: number): { readonly line: number; readonly column: number } {
  const lines = text.slice(0, at).split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
