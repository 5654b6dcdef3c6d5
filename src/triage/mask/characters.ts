/** What kind each character is, by its code: looked up once per character of every message, so kept in a table. */

/** Bits that say what a word is made of. */
export const LOWER = 1;
export const UPPER = 2;
export const DIGIT = 4;
export const SLASH = 8;
export const DOT = 16;
export const UNDERSCORE = 32;
export const DASH = 64;
/** One of `@%+~$#*`, which may be part of a word but make none. */
export const SIGN = 128;
/** Whatever is not ASCII. */
export const HIGH = 256;
export const LETTER = LOWER | UPPER;

const TABLE = new Uint8Array(128);
for (let code = 97; code <= 122; code += 1) TABLE[code] = LOWER;
for (let code = 65; code <= 90; code += 1) TABLE[code] = UPPER;
for (let code = 48; code <= 57; code += 1) TABLE[code] = DIGIT;
TABLE[47] = SLASH;
TABLE[92] = SLASH;
TABLE[46] = DOT;
TABLE[95] = UNDERSCORE;
TABLE[45] = DASH;
for (const sign of "@%+~$#*") TABLE[sign.charCodeAt(0)] = SIGN;

/** The kind of a character; 0 when it cannot be part of a word. */
export function kindOf(code: number): number {
  return code > 127 ? HIGH : (TABLE[code] ?? 0); // NaN, behind the end, is 0
}

/** Whether no word goes on here; full stops and dashes end one unless more follows. */
export function isWordEnd(text: string, end: number): boolean {
  let at = end;
  while ((kindOf(text.charCodeAt(at)) & (DOT | DASH)) !== 0) at += 1;
  return kindOf(text.charCodeAt(at)) === 0;
}

/** Letters, digits, `_`, and whatever is no ASCII. */
export function isWordCode(code: number): boolean {
  return (kindOf(code) & (LETTER | DIGIT | UNDERSCORE | HIGH)) !== 0;
}
