/**
 * Makes text safe for terminals, measures its width, and adds colours. All text from items, commands and errors must pass
 * through `clean` or `fit` before it is printed.
 */

export type Tint = (text: string) => string;

export interface Paint {
  readonly bold: Tint;
  readonly dim: Tint;
  readonly red: Tint;
  readonly green: Tint;
  readonly yellow: Tint;
  readonly cyan: Tint;
}

/** The colours and the width of an output. */
export interface Screen {
  readonly paint: Paint;
  /** The width; infinite means that nothing is cut. */
  readonly columns: number;
}

export interface Terminal {
  readonly isTty: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** Returns colours for a terminal, and none for other outputs, with NO_COLOR, or in CI without FORCE_COLOR. */
export function paintFor(screen: Terminal): Paint {
  return hasColour(screen) ? COLOURED : PLAIN;
}

/** Whether printed lines can be rewritten, which requires an interactive terminal. */
export function canRedraw({ isTty, env }: Terminal): boolean {
  return isTty && env.TERM !== "dumb" && !isOn(env.CI);
}

function hasColour({ isTty, env }: Terminal): boolean {
  if (!isTty || env.NO_COLOR || env.TERM === "dumb") return false;
  return !isOn(env.CI) || isOn(env.FORCE_COLOR);
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "0" && value !== "false";
}

const asIs: Tint = (text) => text;
const PLAIN: Paint = { bold: asIs, dim: asIs, red: asIs, green: asIs, yellow: asIs, cyan: asIs };

/** A screen without colours and with unlimited width. */
export const PLAIN_SCREEN: Screen = { paint: PLAIN, columns: Number.POSITIVE_INFINITY };

const COLOURED: Paint = {
  bold: tint(1, 22),
  dim: tint(2, 22),
  red: tint(31, 39),
  green: tint(32, 39),
  yellow: tint(33, 39),
  cyan: tint(36, 39),
};

function tint(on: number, off: number): Tint {
  return (text) => (text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`);
}

/**
 * Returns the text on one line without terminal control: control characters become visible symbols, and invisible characters
 * that reorder or hide text (bidirectional marks, tags) are removed.
 */
export function clean(text: string): string {
  return isPlainAscii(text) ? text : text.replace(UNSAFE, signOf);
}

/** Returns the width of the cleaned text in columns; the larger number if terminals disagree. */
export function width(text: string): number {
  if (isPlainAscii(text)) return text.length;
  let columns = 0;
  for (const char of clean(text)) columns += charWidth(char);
  return columns;
}

/** The maximum number of UTF-16 units per column. The rest of a long text is not read. */
const UNITS_PER_COLUMN_MAX = 8;

/** Cleans the text and cuts it to this width with an ellipsis. */
export function fit(text: string, columns: number): string {
  if (columns <= 0) return "";
  const head = text.slice(0, columns * UNITS_PER_COLUMN_MAX);
  const shown = clean(head);
  let used = 0;
  let index = 0;
  let cutAt = 0;
  for (const char of shown) {
    used += charWidth(char);
    if (used > columns) return `${shown.slice(0, cutAt)}…`;
    index += char.length;
    if (used < columns) cutAt = index;
  }
  return head.length === text.length ? shown : `${shown.slice(0, cutAt)}…`;
}

function isPlainAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

/** Matches control and format characters, line and paragraph separators, and lone surrogates. */
const UNSAFE = /\r\n|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/** The zero-width joiner, which combines several emoji into one. */
const JOINER = "\u200d";

function signOf(char: string): string {
  if (char === "\n" || char === "\r\n" || char === "\u2028" || char === "\u2029") return "↵";
  if (char === "\t") return " ";
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "␡";
  if (code < 0xa0 || (char.length === 1 && code >= 0xd800 && code < 0xe000)) return "\ufffd";
  return char === JOINER ? char : "";
}

const EMOJI_STYLE = "\ufe0f"; // turns the previous character into an emoji, which is one column wider
const ZERO = /[\p{Mn}\p{Me}\u200d]/u;
const FLAG_HALF = /\p{Regional_Indicator}/u;
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u;

function charWidth(char: string): number {
  if (char >= " " && char <= "~") return 1;
  if (char === EMOJI_STYLE) return 1;
  if (ZERO.test(char)) return 0;
  return WIDE.test(char) && !FLAG_HALF.test(char) ? 2 : 1;
}
