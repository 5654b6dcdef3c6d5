/** Asking before something is done that is hard to undo. */
import { createInterface } from "node:readline/promises";
import { WorkError } from "../errors.ts";
import type { Context } from "./context.ts";

/** Goes on after a yes, and where nobody can answer: a script gets what it asked for. Anything else ends the command. */
export async function askFirst(context: Context, question: string): Promise<void> {
  if (!canAnswer(context) || (await saysYes(context, question))) return;
  throw new WorkError("usage", "Nothing was done.");
}

/** False where nobody can answer. */
export function canAnswer({ terminal: { stdin, stderr } }: Context): boolean {
  return Boolean((stdin as { isTTY?: boolean }).isTTY && stderr.isTTY);
}

/** Only a yes is one; the end of the input is a no, and Ctrl-C ends the command. */
export async function saysYes({ terminal }: Context, question: string): Promise<boolean> {
  const { stdin, stderr } = terminal;
  const dialogue = createInterface({ input: stdin, output: stderr });
  let isInterrupted = false;
  const answer = await new Promise<string>((resolve) => {
    dialogue.once("SIGINT", () => {
      isInterrupted = true;
      resolve("\n");
    });
    dialogue.once("close", () => resolve("\n"));
    dialogue.question(`${question} [y/N] `).then(resolve, () => resolve("\n"));
  });
  dialogue.close();
  if (answer === "\n") stderr.write("\n"); // nobody ended the line
  if (isInterrupted) throw new WorkError("interrupted", "Nothing was done.");
  return /^y(es)?$/i.test(answer.trim());
}
