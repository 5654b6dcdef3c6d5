/** An analysis for a person: the groups, the error types as bars, and when letters died as columns. */

import {
  type JobLetterStats,
  type LetterStats,
  percentOf,
  redriveSuccessRate,
  sumOfStats,
} from "../../dead-letter/stats.ts";
import { formatDuration } from "../../std/duration.ts";
import type { Analysis, Interval, PatternGroup } from "../../triage/analyse.ts";
import type { Fact } from "./details.ts";
import { detailsText, titleOf } from "./details.ts";
import { groupSections, joinFacts } from "./failures.ts";
import { letterName } from "./letter-list.ts";
import { fit, type Paint, width } from "./paint.ts";
import { type Column, table } from "./table.ts";
import { agoText, thousands } from "./words.ts";

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
  const { intervals, stepMs } = timeline;
  const [only] = intervals;
  const title = paint.bold("When they failed");
  if (intervals.length === 1 && only)
    return [`${title}: within ${stepText(stepMs)} of ${timeLabel(only[0])} UTC`];
  const chart = columnChart(intervals, { widthMax: Math.min(columns, CHART_COLUMNS_MAX) - 2, blocks });
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

const EIGHTHS = ["", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const LYING_EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];

/** Whether more than ASCII can be shown: the locale says UTF-8, and the terminal is not a simple one. */
export function canShowBlocks(env: NodeJS.ProcessEnv): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return env.TERM !== "dumb" && /utf-?8/i.test(locale);
}

/** A lying bar for a count, `widthMax` long for the most. Something is never shown as nothing. */
export function bar(count: number, most: number, options: { widthMax: number; blocks: boolean }): string {
  if (count <= 0 || most <= 0) return "";
  const length = (count / most) * options.widthMax;
  if (!options.blocks) return "#".repeat(Math.max(1, Math.round(length)));
  const eighths = Math.max(1, Math.round(length * 8));
  return "█".repeat(Math.floor(eighths / 8)) + (LYING_EIGHTHS[eighths % 8] ?? "");
}

export interface ChartOptions {
  readonly widthMax: number;
  readonly blocks: boolean;
  /** Lines of the columns. Default 5. */
  readonly height?: number;
}

const HEIGHT = 5;
const COLUMN_WIDTH_MAX = 3;

/** Columns over time with their scale on the left and the first and last time below; lines without a line break. */
export function columnChart(intervals: readonly Interval[], options: ChartOptions): readonly string[] {
  const { widthMax, blocks, height = HEIGHT } = options;
  const most = Math.max(1, ...intervals.map(([, count]) => count));
  const scale = thousands(most).length;
  const room = widthMax - scale - 2;
  const wide = Math.max(1, Math.min(COLUMN_WIDTH_MAX, Math.floor(room / Math.max(1, intervals.length))));
  const rows = Array.from({ length: height }, (_, index) => {
    const from = height - 1 - index;
    const cells = intervals.map(([, count]) => cellAt(count / most, { from, height, blocks }).repeat(wide));
    const label = index === 0 ? thousands(most) : "";
    return `${label.padStart(scale)} ${blocks ? "│" : "|"}${cells.join("").trimEnd()}`;
  });
  const floor = `${"0".padStart(scale)} ${blocks ? "└" : "+"}${(blocks ? "─" : "-").repeat(intervals.length * wide)}`;
  return [...rows, floor, timesLine(intervals, { indent: scale + 2, length: intervals.length * wide })];
}

/** What stands on one line of a column, `from` lines above the floor. */
function cellAt(
  share: number,
  { from, height, blocks }: { from: number; height: number; blocks: boolean },
): string {
  const eighths = Math.ceil(share * height * 8) - from * 8;
  if (eighths <= 0) return " ";
  if (!blocks) return "#";
  return EIGHTHS[Math.min(8, eighths)] ?? " ";
}

function timesLine(
  intervals: readonly Interval[],
  { indent, length }: { indent: number; length: number },
): string {
  const [first, last] = [intervals[0], intervals.at(-1)];
  if (first === undefined || last === undefined) return "";
  const start = timeLabel(first[0]);
  if (intervals.length === 1) return `${" ".repeat(indent)}${start}`;
  const end = timeLabel(last[0]);
  const gap = Math.max(3, length - start.length - end.length);
  return `${" ".repeat(indent)}${start}${" ".repeat(gap)}${end}`;
}

/** To the minute, in UTC. */
export function timeLabel(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}

export interface StatsView {
  readonly paint: Paint;
  readonly columns: number;
  /** How many letters may wait in a job; null is no limit. */
  readonly itemsMax: number | null;
  /** One was named: it is shown in full, whatever it has. */
  readonly isOneJob: boolean;
}

export function statsText(all: readonly JobLetterStats[], view: StatsView): string {
  const [first] = all;
  if (first === undefined) return "No letters, and none before.\n";
  return view.isOneJob ? factsText(first, view) : tableText(all, view);
}

function factsText(stats: JobLetterStats, { paint, columns, itemsMax }: StatsView): string {
  const facts: readonly Fact[] = [
    ["Waiting", waitingText(stats)],
    ["Oldest", stats.oldestAgeMs === null ? "none" : `died ${formatDuration(stats.oldestAgeMs)} ago`],
    [
      "Arrived",
      `${thousands(stats.arrivedLastHour)} in the last hour, ${thousands(stats.arrivedLastDay)} in the last 24`,
    ],
    ["Retried", retriedText(stats)],
    ["Resolved", thousands(stats.resolved)],
    ["Discarded", thousands(stats.discarded)],
    ["Deleted", `${thousands(stats.purged)} purged, ${thousands(stats.evicted)} evicted`],
    ["Room", roomText(stats, itemsMax)],
  ];
  return detailsText([{ ...titleOf(stats.jobId), facts }], { paint, columns });
}

function waitingText({ size, onTheirWay }: LetterStats): string {
  const letters = `${thousands(size)} ${size === 1 ? "letter" : "letters"}`;
  return onTheirWay > 0 ? `${letters}, ${thousands(onTheirWay)} of them being retried` : letters;
}

function retriedText(stats: LetterStats): string {
  const rate = rateText(stats);
  if (rate === "") return "none yet";
  return `${thousands(stats.redriveSucceeded)} succeeded, ${thousands(stats.redriveFailed)} failed again (${rate})`;
}

function rateText(stats: LetterStats): string {
  const rate = redriveSuccessRate(stats);
  return rate === null ? "" : `${Math.round(rate * 100)} %`;
}

function roomText(stats: LetterStats, itemsMax: number | null): string {
  if (itemsMax === null) return "no limit";
  return `${percentOf(stats, itemsMax)} % of ${thousands(itemsMax)} used`;
}

interface Row extends LetterStats {
  readonly name: string;
  readonly used: string;
}

function tableText(all: readonly JobLetterStats[], { paint, columns, itemsMax }: StatsView): string {
  const rows: Row[] = all.map((stats) => {
    const percent = percentOf(stats, itemsMax);
    return { ...stats, name: stats.jobId, used: percent === null ? "" : `${percent} %` };
  });
  if (rows.length > 1) rows.push({ ...sumOfStats(all), name: "all", used: "" });
  const number = (title: string, read: (row: Row) => number, giveUp?: number): Column<Row> => ({
    title,
    value: (row) => thousands(read(row)),
    align: "right",
    ...(giveUp !== undefined && { giveUp }),
  });
  const cells: readonly Column<Row>[] = [
    { title: "JOB", value: (row) => row.name, paint: paint.bold, cutTo: 24 },
    number("WAITING", (row) => row.size),
    number("RETRYING", (row) => row.onTheirWay, 5),
    {
      title: "OLDEST",
      value: (row) => (row.oldestAgeMs === null ? "" : formatDuration(row.oldestAgeMs)),
      align: "right",
    },
    number("NEW 1H", (row) => row.arrivedLastHour, 3),
    number("NEW 24H", (row) => row.arrivedLastDay, 2),
    { title: "RETRY OK", value: rateText, align: "right", giveUp: 1 },
    number("RESOLVED", (row) => row.resolved, 6),
    number("DISCARDED", (row) => row.discarded, 7),
    number("DELETED", (row) => row.purged + row.evicted, 8),
    { title: "USED", value: (row) => row.used, align: "right" },
  ];
  return table(rows, cells, columns);
}
