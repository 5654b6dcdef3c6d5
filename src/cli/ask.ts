/** Asking before something is done that is hard to undo. */
import { createInterface } from "node:readline/promises";
import { WorkError } from "../errors.ts";
import type { Context } from "./context.ts";

/** Goes on after a yes, and where nobody can answer: a script gets what it asked for. Anything else ends the command. */
export async function askFirst({ terminal }: Context, question: string): Promise<void> {
  const { stdin, stderr } = terminal;
  if (!(stdin as { isTTY?: boolean }).isTTY || !stderr.isTTY) return;
  const dialogue = createInterface({ input: stdin, output: stderr });
  const answer = await dialogue.question(`${question} [y/N] `);
  dialogue.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new WorkError("usage", "Nothing was done.");
}
