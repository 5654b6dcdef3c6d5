/** Finds the position where a text stops being valid JSON. `JSON.parse` reports no position for most errors. */

const SPACE = /[ \t\n\r]*/y;
/** Characters with a special meaning in a string: control characters, the quote and the backslash. */
const SPECIAL = /[^ !#-[\]-\uffff]/g;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const PLAIN = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;

type Expected = "value" | "first value" | "key" | "first key" | "colon" | "next" | "end";

/** Returns the offset of the first invalid token, from 0; null if the text is valid JSON. */
export function jsonErrorOffset(text: string): number | null {
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

/** Returns the token at the offset; null if it is not allowed there. */
function take(text: string, at: number, expected: Expected, inside: "{" | "[" | undefined): Taken | null {
  const char = text[at];
  const end = at + 1;
  if (expected === "colon") return char === ":" ? { end, after: "value" } : null;
  if (char === "}" && inside === "{" && (expected === "next" || expected === "first key"))
    return { end, after: "next", closes: true };
  if (char === "]" && inside === "[" && (expected === "next" || expected === "first value"))
    return { end, after: "next", closes: true };
  if (expected === "next") return char === "," ? { end, after: inside === "{" ? "key" : "value" } : null;
  if (expected === "key" || expected === "first key") return taken(endOfString(text, at), "colon");
  return expected === "end" ? null : takeValue(text, at);
}

function takeValue(text: string, at: number): Taken | null {
  if (text[at] === "{") return { end: at + 1, after: "first key", opens: "{" };
  if (text[at] === "[") return { end: at + 1, after: "first value", opens: "[" };
  return taken(endOfString(text, at) ?? endOf(PLAIN, text, at), "next");
}

/** Searches for one special character at a time: one regular expression for a long string would overflow the stack. */
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

export function lineAndColumn(text: string, at: number): { readonly line: number; readonly column: number } {
  const lines = text.slice(0, at).split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
