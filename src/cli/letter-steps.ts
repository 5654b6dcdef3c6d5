/** What can be done with a letter next: commands that can be copied, and what each is for. */
import type { Letter } from "../item/letter.ts";
import { type Paint, width } from "./paint.ts";
import { shellWord } from "./summary-text.ts";

interface Step {
  readonly command: string;
  readonly purpose: string;
}

interface View {
  readonly paint: Paint;
  readonly columns: number;
  /** How many letters of the job died of the same failure, this one included. */
  readonly groupCount: number;
}

/** Commands are never cut; what they are for is left out where there is no room beside them. */
export function nextStepsText(letter: Letter, view: View): string {
  const { paint, columns } = view;
  const steps = nextSteps(letter, view.groupCount);
  const widest = Math.max(...steps.map(({ command }) => width(command)));
  const purposes = Math.max(...steps.map(({ purpose }) => width(purpose)));
  const isRoomBeside = 2 + widest + 3 + purposes <= Math.max(columns, 80);
  const lines = steps.map(({ command, purpose }) => {
    const space = " ".repeat(widest - width(command) + 3);
    return `  ${paint.cyan(command)}${isRoomBeside ? space + paint.dim(purpose) : ""}`;
  });
  return `${lines.join("\n")}\n`;
}

function nextSteps(letter: Letter, groupCount: number): readonly Step[] {
  const job = shellWord(letter.jobId) ?? "JOB";
  const item = shellWord(letter.itemId) ?? "ITEM";
  const logs = { command: `redrive logs ${job} ${item}`, purpose: "show the whole output" };
  const hasLog = letter.failureHistory.at(-1)?.log !== undefined;
  return [...(hasLog ? [logs] : []), ...stepsByState(letter, { job, item, groupCount })];
}

function stepsByState(
  letter: Letter,
  { job, item, groupCount }: { job: string; item: string; groupCount: number },
): readonly Step[] {
  const events = { command: `redrive events ${job}`, purpose: "show the events of its job" };
  if (letter.state === "done") return [events];
  if (letter.state === "discarded") {
    return [{ command: `redrive dlq restore ${item} --job ${job}`, purpose: "restore it" }];
  }
  if (letter.state !== "dead") return [{ command: "redrive ops", purpose: "show the retry that is running" }];
  const force = letter.reprocessEligible && !letter.toxic ? "" : " --force";
  const others = `redrive dlq list --job ${job} --group ${letter.errorSignature}`;
  return [
    ...(groupCount > 1 ? [{ command: others, purpose: `list all ${groupCount} letters of its group` }] : []),
    { command: `redrive dlq edit ${item} --job ${job}`, purpose: "correct its data" },
    { command: `redrive dlq retry ${job} ${item}${force}`, purpose: "retry it" },
    { command: `redrive dlq discard ${item} --job ${job} --reason TEXT`, purpose: "discard it" },
  ];
}
