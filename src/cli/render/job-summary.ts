/**
 * Renders the summary at the end of a run: how many items succeeded, why the others failed, and suggested commands. Commands
 * are never cut, so that they can be copied; everything else fits the width of the terminal.
 */
import type { JobSummary } from "../../queue/job-summary.ts";
import { formatDuration } from "../../std/duration.ts";
import { fixText } from "./group.ts";
import { groupSections, type Step, stepLines } from "./layout.ts";
import { counted, fit, rateText, type Screen, shellWord, some, thousands, width } from "./text.ts";
import { usageTexts } from "./usage.ts";

export interface SummaryOptions extends Screen {
  /** Why the run stopped early. */
  readonly stopReason?: string;
  /** The number of items that finished in this run. Default: all finished items; unknown if the job was resumed. */
  readonly finishedInRun?: number;
  /** An example letter for the suggested `inspect` command. */
  readonly sampleItemId?: string;
}

/** Renders the summary without a final line break. */
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
    [some(dead, "dead"), paint.red],
    [some(skipped, "skipped"), paint.yellow],
    [some(discarded, "discarded"), paint.yellow],
    [theyRemain(remaining), paint.yellow],
    [inThisRun(summary, options)],
    [durationOf(summary, options)],
    [rateOf(summary, options)],
    ...usageTexts(summary.usage ?? {}).map((text): Fact => [text]),
  ];
  return facts.filter(([text]) => text !== "");
}

function theyRemain(remaining: number): string {
  return some(remaining, remaining === 1 ? "remains" : "remain");
}

function statusLines({ status }: JobSummary, { paint, columns, stopReason }: SummaryOptions) {
  const why = stopReason === undefined ? "" : `: ${stopReason.replace(/\.$/, "")}`;
  const text = `${status.charAt(0).toUpperCase()}${status.slice(1)}${why}.`;
  if (status === "stopped" || status === "failed") return wrap(text, columns).map(paint.red);
  if (status === "interrupted") return wrap(text, columns).map(paint.yellow);
  return status === "running" ? [paint.cyan("Running.")] : [];
}

/** Formats the count of this run if the totals include earlier runs. */
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

/** No rate is shown for fewer items, because it would mean little. */
const RATE_FROM_ITEMS = 10;

function rateOf(summary: JobSummary, { finishedInRun }: SummaryOptions): string {
  const finished = finishedInRun ?? (summary.isResumed ? 0 : endedOf(summary));
  if (finished < RATE_FROM_ITEMS || summary.durationMs === 0) return "";
  return rateText((finished * 1000) / summary.durationMs);
}

/** Joins the facts with dots and wraps lines only between facts. */
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

/** Mentions an earlier fix. Only its description is cut, never the command. */
function fixedLines({ fixedBefore }: JobSummary, { columns }: SummaryOptions): readonly string[] {
  if (fixedBefore === undefined) return [];
  const { count, signature } = fixedBefore;
  const head = `${thousands(count)} of these ${count === 1 ? "was" : "were"} fixed before by `;
  const command = `: redrive groups show ${signature}`;
  const room = Math.max(FIX_COLUMNS_MIN, columns - head.length - command.length);
  return [head + fit(fixText(fixedBefore), room) + command];
}

const FIX_COLUMNS_MIN = 20;

function openLines(groups: JobSummary["groups"], dead: number, { paint, columns }: SummaryOptions) {
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
  const rest = more > 0 ? [paint.dim(`  and ${counted(more, "more group")}`)] : [];
  return [groupsHeading(dead, groups.length), ...lines, ...rest];
}

const BACK = "regression: ";
const TITLE_COLUMNS_MIN = 10;

function groupsHeading(dead: number, groups: number): string {
  if (groups > 1) return `${thousands(groups)} different failures:`;
  return dead === 1 ? "The failure:" : "All with the same failure:";
}

function nextLines(summary: JobSummary, options: SummaryOptions): readonly string[] {
  const steps = stepsOf(summary, options.sampleItemId);
  if (steps.length === 0) return [];
  return [options.paint.bold("Next:"), ...stepLines(steps, options).map((line) => `  ${line}`)];
}

function stepsOf(summary: JobSummary, sampleItemId?: string): readonly Step[] {
  const { jobId, status, dead, remaining, groups } = summary;
  const steps: Step[] = [];
  const isRunning = status === "running";
  if (!isRunning && (remaining > 0 || status !== "completed"))
    steps.push([`redrive resume ${jobId}`, remaining > 0 ? `resume: ${theyRemain(remaining)}` : "resume"]);
  const areAllIgnored = groups.length > 0 && groups.every(({ state }) => state === "ignored");
  if (dead === 0 || areAllIgnored) return steps;
  steps.push([`redrive dlq list --job ${jobId}`, "list the letters"]);
  const item = sampleItemId === undefined ? null : shellWord(sampleItemId);
  if (item !== null) steps.push([`redrive dlq inspect ${item}`, "inspect one of them"]);
  return isRunning ? steps : withoutRepeated([...steps, ...retrySteps(summary, item)]);
}

/** A workflow is resumed, and its letters are retried, by the same command, which is suggested once. */
function withoutRepeated(steps: readonly Step[]): readonly Step[] {
  const last = steps.at(-1);
  return steps.filter((step) => step === last || step[0] !== last?.[0]);
}

/** Suggests only commands that retry at least one letter; other letters need a review first. */
function retrySteps(summary: JobSummary, item: string | null): readonly Step[] {
  const { jobId, kind, status, dead, remaining, eligible = dead } = summary;
  const them = dead === 1 ? "it" : "them";
  if (eligible === 0) {
    return [
      [`redrive dlq edit ${item ?? "ITEM"}`, "correct its data"],
      [`redrive dlq retry ${jobId} --force`, `retry ${them} once the cause is fixed`],
    ];
  }
  const again = dead > 1 && eligible < dead ? `retry ${thousands(eligible)} of them` : `retry ${them}`;
  if (kind === "map") return [[`redrive dlq retry ${jobId}`, again]];
  // Resuming a workflow also retries its letters, then runs the later phases.
  if (status !== "completed") return [];
  const what = remaining > 0 ? `resume: ${theyRemain(remaining)}; ${again}` : `${again}, and finish the job`;
  return [[`redrive resume ${jobId}`, what]];
}

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
