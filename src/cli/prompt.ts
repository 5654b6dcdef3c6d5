/** Asks yes/no questions before a change. */
import { createInterface } from "node:readline/promises";
import { RedriveError } from "../errors.ts";
import type { Context } from "./context.ts";

/** Asks for confirmation and throws unless the answer is yes. Without a terminal it does not ask, so that scripts work. */
export async function confirm(context: Context, question: string): Promise<void> {
  if (!canAnswer(context) || (await askYesNo(context, question))) return;
  throw new RedriveError("usage", "Cancelled.");
}

/** Whether stdin and stderr are terminals, so that a user can answer. */
export function canAnswer({ terminal: { stdin, stderr } }: Context): boolean {
  return Boolean((stdin as { isTTY?: boolean }).isTTY && stderr.isTTY);
}

/** Asks a question. The end of the input means no; Ctrl-C ends the command. */
export async function askYesNo({ terminal }: Context, question: string): Promise<boolean> {
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
  if (answer === "\n") stderr.write("\n"); // ends the line of the question
  if (isInterrupted) throw new RedriveError("interrupted", "Cancelled.");
  return /^y(es)?$/i.test(answer.trim());
}
