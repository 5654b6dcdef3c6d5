/** `redrive completion SHELL` prints a script for the shell; `redrive complete-words`, which the script calls, prints what fits. */
import type { Command } from "commander";
import { openStore } from "../../engines/open.ts";
import { COMPLETION_SCRIPTS, type Shell } from "../completion-scripts.ts";
import { candidatesFor } from "../completion-words.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";

export async function completion({ terminal }: Context, shell: Shell): Promise<number> {
  terminal.stdout.write(COMPLETION_SCRIPTS[shell]);
  return EXIT.done;
}

/** One line for each word: the word, a tab, and what it is. */
export async function completeWords(
  { terminal, storeUrl }: Context,
  words: readonly string[],
  program: Command,
): Promise<number> {
  const engine = await existingStore(storeUrl);
  try {
    for (const { word, about } of await candidatesFor(program, words, engine))
      terminal.stdout.write(`${word}\t${about.replace(/\s+/g, " ")}\n`);
  } finally {
    await engine?.close();
  }
  return EXIT.done;
}

/** Without a store, or with one that cannot be opened now, commands and options are completed all the same. */
async function existingStore(url: string) {
  try {
    return await openStore(url, { mustExist: true });
  } catch {
    return null;
  }
}
