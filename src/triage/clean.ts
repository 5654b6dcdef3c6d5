/** Text as a person would read it: terminal colours and control characters taken out, and its length bounded. */

const ESC = "\\u001b";
const BEL = "\\u0007";
/** Escape sequences of terminals: colours and cursor moves (CSI), titles and links (OSC), and the short ones. */
const ESCAPES = new RegExp(
  `${ESC}(?:\\[[0-?]{0,32}[ -/]{0,4}[@-~]|\\][^${BEL}${ESC}]{0,2000}(?:${BEL}|${ESC}\\\\)|[@-Z\\\\^_])`,
  "g",
);

/** Without escape sequences and control characters; line breaks and tabs stay. A lone `\r` starts a line. */
export function cleanText(text: string): string {
  return text
    .replace(ESCAPES, "")
    .replace(/\r\n?/g, "\n")
    .replace(/(?![\n\t])\p{Cc}|\ufeff/gu, "");
}

/** One line, its blanks run together, cut to `charsMax` characters with `…` in place of what was cut. */
export function oneLine(text: string, charsMax: number): string {
  const bounded = text.slice(0, 8 * charsMax); // blanks and colours may make up most of it
  return shorten(cleanText(bounded).replace(/\s+/g, " ").trim(), charsMax);
}

/** The beginning of a text, never ending in half a character. */
export function shorten(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
