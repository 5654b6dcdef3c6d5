/** Cleans text for people: removes terminal colours and control characters, and bounds its length. */

const ESC = "\\u001b";
const BEL = "\\u0007";
/** Escape sequences of terminals: colours and cursor moves (CSI), titles and links (OSC), and the short ones. */
const ESCAPES = new RegExp(
  `${ESC}(?:\\[[0-?]{0,32}[ -/]{0,4}[@-~]|\\][^${BEL}${ESC}]{0,2000}(?:${BEL}|${ESC}\\\\)|[@-Z\\\\^_])`,
  "g",
);

/** Removes escape sequences and control characters; line breaks and tabs stay. A lone `\r` becomes a line break. */
export function cleanText(text: string): string {
  return text
    .replace(ESCAPES, "")
    .replace(/\r\n?/g, "\n")
    .replace(/(?![\n\t])\p{Cc}|\ufeff/gu, "");
}

/** Joins a text into one line of at most `charsMax` characters; `…` replaces what was cut. */
export function oneLine(text: string, charsMax: number): string {
  const bounded = text.slice(0, 8 * charsMax); // cleaning removes blanks and colours, so more is kept
  return shorten(cleanText(bounded).replace(/\s+/g, " ").trim(), charsMax);
}

/** Cuts a text, but never within a surrogate pair. */
export function shorten(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
