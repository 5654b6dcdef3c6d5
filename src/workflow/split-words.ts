/** Splits a line into words as a shell would, with quotes and backslashes, and without everything else that a shell does. */
import type { Filled } from "../attempt/template-parts.ts";

const TOKEN = /\s+|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)|[\s\S]/g;

/** The words, or why the line has none. */
export function splitWords(line: string): Filled<string[]> {
  const words: string[] = [];
  let word: string | undefined;
  for (const [token, single, double, escaped, plain] of line.matchAll(TOKEN)) {
    const part = single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? plain;
    if (part !== undefined) word = (word ?? "") + part;
    else if (token.trim() !== "")
      return { ok: false, message: `a ${token === "\\" ? "backslash" : "quote"} has no end` };
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return { ok: true, value: word === undefined ? words : [...words, word] };
}
