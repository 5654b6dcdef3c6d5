/** An analysis for a person: the groups, the error types as bars, and when letters died as columns. */
import type { Analysis, PatternGroup } from "../triage/analyse.ts";
import { bar, columnChart, timeLabel } from "./chart.ts";
import { joinFacts } from "./common-facts.ts";
import { groupSections } from "./group-sections.ts";
import { letterName } from "./letter-name.ts";
import { fit, type Paint, width } from "./paint.ts";
import { agoText } from "./progress-line.ts";
import { thousands } from "./progress-rate.ts";

export interface AnalysisView {
  readonly paint: Paint;
  readonly columns: number;
  /** Whether more than ASCII can be shown. */
  readonly blocks: boolean;
  readonly now: number;
  /** Whose letters they are, e.g. ` of orders-x`. */
  readonly ofWhat: string;
  /** What an item's id is shown as. Default: all of it. */
  readonly idOf?: (itemId: string) => string;
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
  const { paint, columns } = view;
  const shown = patternGroups.slice(0, GROUPS_SHOWN_MAX);
  const countWidth = Math.max(...shown.map(({ count }) => thousands(count).length));
  const indent = 4 + countWidth + 1 + SHARE_COLUMNS + 2;
  const room = Math.max(20, columns - indent);
  const sections = groupSections(shown, { headingColumns: columns - 2, titleColumns: room });
  const lines = sections.flatMap(({ heading, rows }) => [
    ...(heading === "" ? [] : [`  ${heading}`]),
    ...rows.flatMap(({ group, title }) => {
      const share = `${Math.round((group.count / totalItems) * 100)} %`.padStart(SHARE_COLUMNS);
      const count = thousands(group.count).padStart(countWidth);
      return [
        `    ${paint.red(count)} ${paint.dim(share)}  ${title}`,
        `${" ".repeat(indent)}${paint.dim(groupFacts(group, room, view))}`,
      ];
    }),
  ]);
  const left = patternGroups.length - shown.length;
  const more = left > 0 ? [paint.dim(`  and ${thousands(left)} more; --json has all`)] : [];
  return [paint.bold("Groups"), ...lines, ...more];
}

const SHARE_COLUMNS = 5;

/** Signature, state, times and a letter as an example, whose data is shortened before anything else. */
function groupFacts(group: PatternGroup, room: number, { now, idOf = (id) => id }: AnalysisView): string {
  const state = group.isRegression ? "regression" : group.state === "open" ? "" : (group.state ?? "");
  const facts = joinFacts([group.signature, state, lastedText(group, now)]);
  const [sample] = group.sampleItems;
  if (sample === undefined) return fit(facts, room);
  const example = letterName(sample, { idOf, columns: room - width(facts) - " · e.g. ".length });
  return example === null ? fit(facts, room) : `${facts} · e.g. ${example}`;
}

/** Failures within so short a time are shown with one time. */
const ONE_TIME_MS = 60_000;

function lastedText({ firstOccurrence, lastOccurrence, count }: PatternGroup, now: number): string {
  const ago = (at: number) => agoText(now - at);
  if (count === 1 || lastOccurrence - firstOccurrence < ONE_TIME_MS) return ago(lastOccurrence);
  return `first ${ago(firstOccurrence)}, last ${ago(lastOccurrence)}`;
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

/** Where no terminal limits the width. */
const CHART_COLUMNS_MAX = 200;

function timeLines({ timeline }: Analysis, { paint, columns, blocks }: AnalysisView): readonly string[] {
  const { stretches, stepMs } = timeline;
  const [only] = stretches;
  const title = paint.bold("When they failed");
  if (stretches.length === 1 && only)
    return [`${title}: within ${stepText(stepMs)} of ${timeLabel(only[0])} UTC`];
  const chart = columnChart(stretches, { widthMax: Math.min(columns, CHART_COLUMNS_MAX) - 2, blocks });
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
