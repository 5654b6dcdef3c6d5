/** One letter for a person: what it was about, every attempt as a timeline, its output, and what to do next. */
import type { Failure } from "../item/failure.ts";
import type { Letter, WorktreeArtifacts } from "../item/letter.ts";
import { toRfc3339 } from "../kit/clock.ts";
import { formatDuration } from "../kit/duration.ts";
import { clean, fit, type Paint } from "./paint.ts";
import { shellWord } from "./summary-text.ts";

interface View {
  readonly paint: Paint;
  readonly columns: number;
  /** How many other letters died of the same failure. */
  readonly shared: number;
}

export function letterText(letter: Letter, view: View): string {
  const { paint } = view;
  const last = letter.failureHistory.at(-1);
  const sections = [
    header(letter, view),
    `${paint.bold("Data")}${letter.revision > 1 ? ` (revision ${letter.revision})` : ""}\n${indent(dataText(letter), view)}`,
    `${paint.bold("Attempts")}\n${letter.failureHistory.map((failure) => attemptText(failure, view)).join("")}`,
    last && output("stderr", last.stderrTail, view),
    last && output("stdout", last.stdoutTail, view),
    letter.worktreeArtifacts && worktreeText(letter.worktreeArtifacts, view),
    letter.evidence &&
      `${paint.bold("Late results")}\n${indent(letter.evidence.map((one) => `${toRfc3339(one.at)} attempt ${one.attemptNumber}: ${one.outcome} ${one.note}`).join("\n"), view)}`,
    `${paint.bold("Next")}\n${indent(nextSteps(letter, last).join("\n"), view)}`,
  ];
  return sections.filter(Boolean).join("\n");
}

function header(letter: Letter, { paint, shared }: View): string {
  const facts: [string, string][] = [
    ["Job", letter.jobId],
    ["Died", `${toRfc3339(letter.lastAttempt)}: ${letter.reason}`],
    ["Failure", letter.errorPattern],
    [
      "Group",
      `${letter.errorSignature}${shared > 0 ? `, shared with ${shared} other ${shared === 1 ? "letter" : "letters"}` : ""}`,
    ],
    ["Retry", retryWord(letter)],
  ];
  if (letter.redriveCount > 0)
    facts.push(["Redriven", letter.redriveCount === 1 ? "once" : `${letter.redriveCount} times`]);
  const lines = facts.map(([name, value]) => `  ${paint.dim(name.padEnd(9))} ${clean(value)}`);
  return `${paint.bold(clean(letter.itemId))}${letter.state === "dead" ? "" : ` (${letter.state}: being redriven)`}\n${lines.join("\n")}\n`;
}

function retryWord(letter: Letter): string {
  if (letter.reprocessEligible) return "eligible";
  return letter.manualReviewRequired
    ? "a person has to look first (--force to override)"
    : "not eligible (--force to override)";
}

const DATA_CHARS_MAX = 2000;

function dataText(letter: Letter): string {
  const text =
    typeof letter.itemData === "string" ? letter.itemData : JSON.stringify(letter.itemData, null, 2);
  return text.length > DATA_CHARS_MAX
    ? `${text.slice(0, DATA_CHARS_MAX)}… (${text.length} characters; --json shows all)`
    : text;
}

function attemptText(failure: Failure, { paint, columns }: View): string {
  const how = failure.exitCode !== undefined ? `exit ${failure.exitCode}` : (failure.signal ?? "");
  const head = [
    `#${failure.attemptNumber}`,
    toRfc3339(failure.timestamp),
    `after ${formatDuration(failure.durationMs)}`,
    failure.errorType.name,
    how,
  ];
  const lines = [
    `  ${head.filter(Boolean).join("  ")}`,
    `      ${paint.red(fit(failure.errorMessage, Math.max(40, columns - 6)))}`,
  ];
  const context = failure.errorContext ?? [];
  if (!context.some((line) => line.endsWith(failure.stepFailed))) {
    lines.push(`      ${paint.dim(fit(failure.stepFailed, Math.max(40, columns - 6)))}`);
  }
  for (const line of context) lines.push(`      ${paint.dim(clean(line))}`);
  for (const file of failure.evidence ?? []) lines.push(`      evidence: ${clean(file)}`);
  if (failure.log) lines.push(`      ${paint.dim(`log: ${clean(failure.log)}`)}`);
  if (failure.jsonLogLocation)
    lines.push(`      ${paint.dim(`json log: ${clean(failure.jsonLogLocation)}`)}`);
  return `${lines.join("\n")}\n`;
}

/** Where the last attempt worked; it is kept for whoever looks into it. */
function worktreeText(
  { worktreePath, branchName, head, uncommittedChanges }: WorktreeArtifacts,
  view: View,
): string {
  const changes = uncommittedChanges === undefined ? "" : `\nnot committed:\n${uncommittedChanges.trimEnd()}`;
  const at = head === undefined ? "" : ` at ${head.slice(0, 10)}`;
  const facts = `  ${clean(worktreePath)}\n${indent(`branch ${branchName}${at}${changes}`, view)}`; // a path is not cut
  return `${view.paint.bold("Worktree")}\n${facts}`;
}

const TAIL_LINES_MAX = 15;

function output(name: string, tail: string | undefined, view: View): string {
  if (!tail?.trim()) return "";
  const lines = tail.trimEnd().split("\n");
  const more = lines.length > TAIL_LINES_MAX ? ` (last ${TAIL_LINES_MAX} lines)` : "";
  return `${view.paint.bold(name)}${more}\n${indent(lines.slice(-TAIL_LINES_MAX).join("\n"), view)}`;
}

function nextSteps(letter: Letter, last: Failure | undefined): string[] {
  const where = `${shellWord(letter.jobId) ?? "JOB"} ${shellWord(letter.itemId) ?? "ITEM"}`;
  const force = letter.reprocessEligible ? "" : " --force";
  const steps: [command: string, purpose: string][] = [
    [`redrive dlq retry ${where}${force}`, "run it again"],
  ];
  if (last?.log) steps.unshift([`redrive logs ${where}`, "the whole output"]);
  const widest = Math.max(...steps.map(([command]) => command.length));
  return steps.map(([command, purpose]) => `${command.padEnd(widest)}   ${purpose}`);
}

function indent(text: string, { columns }: View): string {
  return `${text
    .split("\n")
    .map((line) => `  ${fit(line, Math.max(40, columns - 2))}`)
    .join("\n")}\n`;
}
