/** Finds the delimiter of a here-document in a shell script, and the end of its body. */
import type { HereDocumentUser } from "./shell-commands.ts";

export interface Delimiter {
  readonly delimiter: string;
  /** `<<-`: tabs at the beginning of a line do not count. */
  readonly stripsTabs: boolean;
  /** Nothing is replaced in the body. */
  readonly isQuoted: boolean;
  /** Where the delimiter ends in the script. */
  readonly end: number;
}

export interface HereDocument extends Delimiter {
  /** The command that reads the body. */
  readonly user: HereDocumentUser | undefined;
}

const DELIMITER = /(-?)[ \t]*((?:'[^'\n]*'|"[^"\\$`\n]*"|\\.|[^ \t\n;&|<>()'"\\`$])+)/y;

/** Reads it right after the `<<`. Undefined where shells could disagree about it. */
export function readDelimiter(text: string, at: number): Delimiter | undefined {
  DELIMITER.lastIndex = at;
  const match = DELIMITER.exec(text);
  const end = DELIMITER.lastIndex;
  if (!match || end === text.length || /[$`\\]/.test(text[end] ?? "")) return undefined;
  const [, dash, written = ""] = match;
  return {
    delimiter: written.replace(/\\(.)|['"]/gs, "$1"),
    stripsTabs: dash === "-",
    isQuoted: /['"\\]/.test(written),
    end,
  };
}

/** Where the body that begins at `at` ends, and where the line after its delimiter begins. */
export function bodyEnd(
  text: string,
  at: number,
  { delimiter, stripsTabs }: Delimiter,
): { readonly body: number; readonly next: number } | undefined {
  for (let start = at; start < text.length; ) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    const line = text.slice(start, end);
    if ((stripsTabs ? line.replace(/^\t+/, "") : line) === delimiter) return { body: start, next: end + 1 };
    start = end + 1;
  }
  return undefined;
}
