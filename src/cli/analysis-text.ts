/** An analysis for a person: the groups, the error types as bars, and when letters died as columns. */
import { formatDuration } from "../kit/duration.ts";
import { asText } from "../kit/json.ts";
import type { Analysis, PatternGroup } from "../triage/analyse.ts";
import { bar, columnChart, timeLabel } from "./chart.ts";
import { clean, fit, type Paint } from "./paint.ts";
import { thousands } from "./progress-rate.ts";

export interface AnalysisView {
  readonly paint: Paint;
  readonly columns: number;
  /** Whether more than ASCII can be shown. */
  readonly blocks: boolean;
  readonly now: number;
  /** Whose letters they are, e.g. ` of orders-x`. */
  readonly ofWhat: string;
}

/** Groups beyond these are counted, not shown. */
export const GROUPS_SHOWN_MAX = 10;

export function analysisText(analysis: Analysis, view: AnalysisView): string {
  if (analysis.totalItems === 0) return `No letters${view.ofWhat}.\n`;
  const sections = [[headline(analysis, view)], groupLines(analysis, view), typeLines(analysis, view)];
  return `${[...sections, timeLines(analysis, view)].map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function headline({ totalItems, patternGroups }: Analysis, { paint, ofWhat }: AnalysisView): string {
  const letters = `${thousands(totalItems)} ${totalItems === 1 ? "letter" : "letters"}${ofWhat}`;
  const groups = `${thousands(patternGroups.length)} ${patternGroups.length === 1 ? "group" : "groups"}`;
  return `${paint.bold(letters)} in ${groups}`;
}

function groupLines({ patternGroups, totalItems }: Analysis, view: AnalysisView): readonly string[] {
  const shown = patternGroups.slice(0, GROUPS_SHOWN_MAX);
  const countWidth = Math.max(...shown.map(({ count }) => thousands(count).length));
  const lines = shown.flatMap((group) => oneGroup(group, { totalItems, countWidth, view }));
  const left = patternGroups.length - shown.length;
  const more = left > 0 ? [view.paint.dim(`  and ${thousands(left)} more; --json has all`)] : [];
  return [view.paint.bold("Groups"), ...lines, ...more];
}

function oneGroup(
  group: PatternGroup,
  { totalItems, countWidth, view }: { totalItems: number; countWidth: number; view: AnalysisView },
): readonly string[] {
  const { paint, columns, now } = view;
  const share = `${Math.round((group.count / totalItems) * 100)} %`.padStart(5);
  const head = `  ${paint.red(thousands(group.count).padStart(countWidth))} ${paint.dim(share)}  `;
  const indent = " ".repeat(2 + countWidth + 1 + 5 + 2);
  const room = Math.max(20, columns - indent.length);
  const [sample] = group.sampleItems;
  const facts = [
    group.signature,
    ...(group.isRegression
      ? ["regression"]
      : group.state === undefined || group.state === "open"
        ? []
        : [group.state]),
    lastedText(group, now),
    ...(sample ? [`e.g. ${sample.itemId}${dataHint(sample.itemId, asText(sample.itemData))}`] : []),
  ];
  return [head + fit(group.pattern, room), `${indent}${paint.dim(fit(facts.join(" · "), room))}`];
}

function lastedText({ firstOccurrence, lastOccurrence, count }: PatternGroup, now: number): string {
  const ago = (at: number) => `${formatDuration(Math.max(0, now - at))} ago`;
  if (count === 1 || ago(firstOccurrence) === ago(lastOccurrence)) return ago(lastOccurrence);
  return `first ${ago(firstOccurrence)}, last ${ago(lastOccurrence)}`;
}

/** An id that is made from the data says less than the data. */
function dataHint(itemId: string, data: string): string {
  return data.includes(itemId) ? "" : ` (${fit(clean(data), 30)})`;
}

function typeLines(
  { errorDistribution }: Analysis,
  { paint, columns, blocks }: AnalysisView,
): readonly string[] {
  const entries = [...errorDistribution];
  const nameWidth = Math.max(...entries.map(([name]) => name.length));
  const countWidth = Math.max(...entries.map(([, count]) => thousands(count).length));
  const most = Math.max(...entries.map(([, count]) => count));
  const widthMax = Math.max(5, Math.min(40, columns - nameWidth - countWidth - 6));
  const lines = entries.map(([name, count]) => {
    const length = bar(count, most, { widthMax, blocks });
    return `  ${name.padEnd(nameWidth)}  ${thousands(count).padStart(countWidth)}  ${paint.cyan(length)}`;
  });
  return [paint.bold("Error types"), ...lines];
}

function timeLines({ timeline }: Analysis, { paint, columns, blocks }: AnalysisView): readonly string[] {
  const { stretches, stepMs } = timeline;
  const [only] = stretches;
  const title = paint.bold("When they died");
  if (stretches.length === 1 && only)
    return [`${title}: within ${stepText(stepMs)} of ${timeLabel(only[0])} UTC`];
  const chart = columnChart(stretches, { widthMax: columns - 2, blocks });
  const [columnLines, times] = [chart.slice(0, -1), chart.at(-1) ?? ""];
  return [
    `${title} (UTC, a column is ${stepText(stepMs)})`,
    ...columnLines.map((line) => `  ${paint.cyan(line)}`),
    `  ${paint.dim(times)}`,
  ];
}

function stepText(stepMs: number): string {
  const minutes = stepMs / 60_000;
  if (minutes < 60) return minutes === 1 ? "a minute" : `${minutes} minutes`;
  const hours = minutes / 60;
  if (hours < 24) return hours === 1 ? "an hour" : `${hours} hours`;
  return hours === 24 ? "a day" : `${hours / 24} days`;
}
