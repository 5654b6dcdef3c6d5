/**
 * The summary at the end of a run: how many items succeeded, why the others failed, and what to type next. Commands are
 * never cut, so that they can be copied; everything else fits the width of the terminal.
 */
import type { JobSummary } from "../../queue/job-summary.ts";
import { formatDuration } from "../../std/duration.ts";
import { groupSections } from "./failures.ts";
import { fixText } from "./group.ts";
import { fit, type Paint, width } from "./paint.ts";
import { rateText, shellWord, thousands } from "./words.ts";

export interface SummaryOptions {
  readonly paint: Paint;
  readonly columns: number;
  /** Why the run stopped early. */
  readonly stopReason?: string;
  /** How many items finished in this run. Default: all that finished; unknown when the job was resumed. */
  readonly finishedInRun?: number;
  /** A letter of the job, for the command that inspects one. */
  readonly sampleItemId?: string;
}

/** Several lines without a line break at the end. */
export function summaryText(summary: JobSummary, options: SummaryOptions): string {
  const sections = [
    headline(summary, options),
    summary.dead > 0 ? groupLines(summary, options) : [],
    nextLines(summary, options),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

/** A part of the headline, and how it is coloured. */
type Fact = readonly [text: string, tint?: (text: string) => string];

function headline(summary: JobSummary, options: SummaryOptions): readonly string[] {
  if (summary.total === 0 && summary.status === "completed") {
    return wrap("Nothing to do: the input has no items.", options.columns);
  }
  return [...statusLines(summary, options), ...flow(factsOf(summary, options), options)];
}

function factsOf(summary: JobSummary, options: SummaryOptions): readonly Fact[] {
  const { total, succeeded, dead, skipped, discarded, remaining } = summary;
  const { paint } = options;
  const isAllFine = total > 0 && succeeded === total;
  const facts: Fact[] = [
    [`${thousands(succeeded)} of ${thousands(total)} succeeded`, isAllFine ? paint.green : paint.bold],
    [dead > 0 ? `${thousands(dead)} dead` : "", paint.red],
    [skipped > 0 ? `${thousands(skipped)} skipped` : "", paint.yellow],
    [discarded > 0 ? `${thousands(discarded)} discarded` : "", paint.yellow],
    [remaining > 0 ? theyRemain(remaining) : "", paint.yellow],
    [inThisRun(summary, options)],
    [durationOf(summary, options)],
    [rateOf(summary, options)],
  ];
  return facts.filter(([text]) => text !== "");
}

function theyRemain(remaining: number): string {
  return remaining === 1 ? "1 remains" : `${thousands(remaining)} remain`;
}

function statusLines({ status }: JobSummary, { paint, columns, stopReason }: SummaryOptions): string[] {
  const why = stopReason === undefined ? "" : `: ${stopReason.replace(/\.$/, "")}`;
  if (status === "stopped") return wrap(`Stopped${why}.`, columns).map(paint.red);
  if (status === "failed") return wrap(`Failed${why}.`, columns).map(paint.red);
  if (status === "interrupted") return wrap(`Interrupted${why}.`, columns).map(paint.yellow);
  return status === "running" ? [paint.cyan("Running.")] : [];
}

/** Shown when the counts include items of earlier runs. */
function inThisRun(summary: JobSummary, { finishedInRun }: SummaryOptions): string {
  if (finishedInRun === undefined || finishedInRun >= endedOf(summary)) return "";
  return `${finishedInRun === 0 ? "none" : thousands(finishedInRun)} in this run`;
}

function durationOf(summary: JobSummary, { finishedInRun }: SummaryOptions): string {
  const duration = formatDuration(summary.durationMs);
  return summary.isResumed && finishedInRun === undefined ? `latest run ${duration}` : duration;
}

function endedOf({ succeeded, dead, skipped, discarded }: JobSummary): number {
  return succeeded + dead + skipped + discarded;
}

/** A rate over fewer items means little. */
const RATE_FROM_ITEMS = 10;

function rateOf(summary: JobSummary, { finishedInRun }: SummaryOptions): string {
  const finished = finishedInRun ?? (summary.isResumed ? 0 : endedOf(summary));
  if (finished < RATE_FROM_ITEMS || summary.durationMs === 0) return "";
  return rateText((finished * 1000) / summary.durationMs);
}

/** The facts with dots between them, on as many lines as they need. */
function flow(facts: readonly Fact[], { paint, columns }: SummaryOptions): string[] {
  const lines: Fact[][] = [];
  let used = 0;
  for (const fact of facts) {
    const own = width(fact[0]);
    const line = lines.at(-1);
    if (line === undefined || used + 3 + own > columns) lines.push([fact]);
    else line.push(fact);
    used = line === lines.at(-1) ? used + 3 + own : own;
  }
  const painted = ([text, tint]: Fact) => (tint ? tint(text) : text);
  return lines.map((line) => line.map(painted).join(paint.dim(" · ")));
}

const GROUPS_MAX = 5;

/** Ignored groups are only counted. */
function groupLines(summary: JobSummary, options: SummaryOptions): readonly string[] {
  const groups = summary.groups.filter(({ state }) => state !== "ignored");
  const ignored = summary.groups.filter(({ state }) => state === "ignored");
  const letters = ignored.reduce((sum, { count }) => sum + count, 0);
  const rest = ignored.length === 0 ? [] : [ignoredText(letters, ignored.length, groups.length === 0)];
  return [...openLines(groups, summary.dead, options), ...rest, ...fixedLines(summary, options)];
}

function ignoredText(letters: number, groups: number, isAll: boolean): string {
  const what = `${thousands(letters)} ${isAll ? "" : "more "}in ${groups === 1 ? "an ignored group" : `${groups} ignored groups`}`;
  return `${what}: redrive groups list --state ignored`;
}

/** The command is never cut. */
function fixedLines({ fixedBefore }: JobSummary, { columns }: SummaryOptions): readonly string[] {
  if (fixedBefore === undefined) return [];
  const { count, signature } = fixedBefore;
  const head = `${thousands(count)} of these ${count === 1 ? "was" : "were"} fixed before by `;
  const command = `: redrive groups show ${signature}`;
  return [
    `${head}${fit(fixText(fixedBefore), Math.max(FIX_COLUMNS_MIN, columns - head.length - command.length))}${command}`,
  ];
}

const FIX_COLUMNS_MIN = 20;

function openLines(
  groups: JobSummary["groups"],
  dead: number,
  { paint, columns }: SummaryOptions,
): readonly string[] {
  if (groups.length === 0) return [];
  const largestFirst = [...groups].sort((a, b) => b.count - a.count);
  const shown = largestFirst.slice(0, GROUPS_MAX);
  const countWidth = Math.max(...shown.map(({ count }) => thousands(count).length));
  const indent = 4 + countWidth + 2 + (shown.some(({ isRegression }) => isRegression) ? BACK.length : 0);
  const widths = { headingColumns: columns - 2, titleColumns: Math.max(TITLE_COLUMNS_MIN, columns - indent) };
  const lines = groupSections(shown, widths).flatMap(({ heading, rows }) => [
    ...(heading === "" ? [] : [`  ${paint.dim(heading)}`]),
    ...rows.map(({ group, title }) => {
      const back = group.isRegression ? paint.red(BACK) : "";
      return `    ${paint.red(thousands(group.count).padStart(countWidth))}  ${back}${title}`;
    }),
  ]);
  const more = groups.length - shown.length;
  const rest =
    more > 0 ? [paint.dim(`  and ${thousands(more)} more ${more === 1 ? "group" : "groups"}`)] : [];
  return [groupsHeading(dead, groups.length), ...lines, ...rest];
}

const BACK = "regression: ";
const TITLE_COLUMNS_MIN = 10;

function groupsHeading(dead: number, groups: number): string {
  if (groups > 1) return `${thousands(groups)} different failures:`;
  return dead === 1 ? "The failure:" : "All with the same failure:";
}

interface Step {
  readonly command: string;
  readonly purpose: string;
}

function nextLines(summary: JobSummary, { paint, columns, sampleItemId }: SummaryOptions): readonly string[] {
  const steps = stepsOf(summary, sampleItemId);
  if (steps.length === 0) return [];
  const commandWidth = Math.max(...steps.map(({ command }) => width(command)));
  const purposeWidth = Math.max(...steps.map(({ purpose }) => width(purpose)));
  const isRoomBeside = 2 + commandWidth + 3 + purposeWidth <= columns;
  const purposeOf = (step: Step) =>
    isRoomBeside ? " ".repeat(commandWidth - width(step.command) + 3) + paint.dim(step.purpose) : "";
  return [paint.bold("Next:"), ...steps.map((step) => `  ${paint.cyan(step.command)}${purposeOf(step)}`)];
}

function stepsOf(summary: JobSummary, sampleItemId?: string): readonly Step[] {
  const { jobId, status, dead, remaining } = summary;
  const steps: Step[] = [];
  const isRunning = status === "running";
  if (!isRunning && (remaining > 0 || status !== "completed")) {
    const purpose = remaining > 0 ? `resume: ${theyRemain(remaining)}` : "resume";
    steps.push({ command: `redrive resume ${jobId}`, purpose });
  }
  if (dead === 0 || areAllIgnored(summary)) return steps;
  steps.push({ command: `redrive dlq list --job ${jobId}`, purpose: "list the letters" });
  const item = sampleItemId === undefined ? null : shellWord(sampleItemId);
  if (item !== null) steps.push({ command: `redrive dlq inspect ${item}`, purpose: "inspect one of them" });
  if (!isRunning) steps.push(...againSteps(summary, item));
  return steps;
}

function areAllIgnored({ groups }: JobSummary): boolean {
  return groups.length > 0 && groups.every(({ state }) => state === "ignored");
}

/** Only commands that run at least one letter are offered; the others need a person first. */
function againSteps(summary: JobSummary, item: string | null): readonly Step[] {
  const { jobId, dead, eligible = dead } = summary;
  if (eligible > 0) return eligibleSteps(summary, eligible);
  return [
    { command: `redrive dlq edit ${item ?? "ITEM"}`, purpose: "correct its data" },
    {
      command: `redrive dlq retry ${jobId} --force`,
      purpose: dead === 1 ? "retry it once the cause is fixed" : "retry them once the cause is fixed",
    },
  ];
}

/** Resuming a workflow also retries its letters, then runs the later phases. */
function eligibleSteps({ jobId, kind, status, dead }: JobSummary, eligible: number): readonly Step[] {
  const some = eligible < dead ? `retry ${thousands(eligible)} of them` : "retry them";
  const again = dead === 1 ? "retry it" : some;
  if (kind === "map") return [{ command: `redrive dlq retry ${jobId}`, purpose: again }];
  if (status !== "completed") return []; // is there already
  return [{ command: `redrive resume ${jobId}`, purpose: `${again}, and finish the job` }];
}

/** Broken between words. */
function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of fit(text, REASON_COLUMNS_MAX).split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || width(line) + 1 + width(word) > columns) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

const REASON_COLUMNS_MAX = 400;
