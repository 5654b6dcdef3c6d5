/** The command for the next page of a list: the same words with another cursor. */
import type { Context } from "../context.ts";
import { shellWord } from "./words.ts";

/** A line for the end of a page; nothing at the end of the list. */
export function nextPageText(
  { paint, words }: Pick<Context, "paint" | "words">,
  cursor: string | null,
): string {
  if (cursor === null) return "";
  const command = ["redrive", ...withoutCursor(words), "--cursor", cursor].map(quoted).join(" ");
  return `${paint.dim("Next page:")} ${paint.cyan(command)}\n`;
}

function withoutCursor(words: readonly string[]): readonly string[] {
  return words.filter((word, index) => !word.startsWith("--cursor") && words[index - 1] !== "--cursor");
}

function quoted(word: string): string {
  return word.startsWith("-") ? word : (shellWord(word) ?? `'${word.replaceAll("'", "'\\''")}'`);
}
