/** Renders an analysis of letters: groups, error types as bars, and times of death as columns. */
import {
  type JobLetterStats,
  type LetterStats,
  percentOf,
  redriveSuccessRate,
  sumOfStats,
} from "../../dead-letter/stats.ts";
import { formatDuration } from "../../std/duration.ts";
import type { Analysis, Interval, PatternGroup } from "../../triage/analyse.ts";
import { detailsText, groupSections, joinFacts, type Section, table, titleOf } from "./layout.ts";
import { letterName, type Shorten } from "./letter-list.ts";
import {
  agoText,
  counted,
  fit,
  lettersText,
  listed,
  minuteText,
  type Screen,
  some,
  thousands,
  width,
} from "./text.ts";

export interface AnalysisView extends Screen {
  /** Whether the terminal can show Unicode block characters. */
  readonly blocks: boolean;
  readonly now: number;
  /** The owner of the letters for the heading, e.g. ` of orders-x`. */
  readonly ofWhat: string;
  /** Shortens an item's id. Default: the whole id is shown. */
  readonly idOf?: Shorten;
}

export const GROUPS_SHOWN_MAX = 10;

export function analysisText(analysis: Analysis, view: AnalysisView): string {
  const { totalItems, patternGroups } = analysis;
  if (totalItems === 0) return `No letters${view.ofWhat}.\n`;
  const letters = view.paint.bold(`${lettersText(totalItems)}${view.ofWhat}`);
  const groups = counted(patternGroups.length, "group");
  return `${letters} in ${groups}\n\n${detailsText(
    [
      { title: "Groups", lines: groupLines(analysis, view) },
      { title: "Error types", lines: typeLines(analysis, view) },
      timeSection(analysis, view),
    ],
    view,
  )}`;
}

function groupLines({ patternGroups, totalItems }: Analysis, view: AnalysisView): readonly string[] {
  const { paint, columns } = view;
  const shown = patternGroups.slice(0, GROUPS_SHOWN_MAX);
  const countWidth = Math.max(...shown.map(({ count }) => thousands(count).length));
  const indent = 4 + countWidth + 1 + SHARE_COLUMNS + 2;
  const room = Math.max(20, columns - indent);
  const sections = groupSections(shown, { headingColumns: columns - 2, titleColumns: room });
  const lines = sections.flatMap(({ heading, rows }) => [
    ...(heading === "" ? [] : [heading]),
    ...rows.flatMap(({ group, title }) => {
      const share = `${Math.round((group.count / totalItems) * 100)} %`.padStart(SHARE_COLUMNS);
      const count = thousands(group.count).padStart(countWidth);
      return [
        `  ${paint.red(count)} ${paint.dim(share)}  ${title}`,
        `${" ".repeat(indent - 2)}${paint.dim(groupFacts(group, room, view))}`,
      ];
    }),
  ]);
  const left = patternGroups.length - shown.length;
  return left > 0 ? [...lines, paint.dim(`and ${thousands(left)} more; --json shows all`)] : lines;
}

const SHARE_COLUMNS = 5;

/** Formats signature, state, times and an example letter. The example's data is shortened first. */
function groupFacts(group: PatternGroup, room: number, { now, idOf = (id) => id }: AnalysisView): string {
  const state = group.isRegression ? "regression" : group.state === "open" ? "" : (group.state ?? "");
  const facts = joinFacts([group.signature, state, lastedText(group, now)]);
  const [sample] = group.sampleItems;
  if (sample === undefined) return fit(facts, room);
  const example = letterName(sample, { idOf, columns: room - width(facts) - " · e.g. ".length });
  return example === null ? fit(facts, room) : `${facts} · e.g. ${example}`;
}

/** Periods shorter than this are shown as one time. */
const ONE_TIME_MS = 60_000;

function lastedText({ firstOccurrence, lastOccurrence, count }: PatternGroup, now: number): string {
  const ago = (at: number) => agoText(now - at);
  if (count === 1 || lastOccurrence - firstOccurrence < ONE_TIME_MS) return ago(lastOccurrence);
  return `first ${ago(firstOccurrence)}, last ${ago(lastOccurrence)}`;
}

function typeLines({ errorDistribution }: Analysis, { paint, columns, blocks }: AnalysisView) {
  const entries = [...errorDistribution];
  const nameWidth = Math.max(...entries.map(([name]) => name.length));
  const countWidth = Math.max(...entries.map(([, count]) => thousands(count).length));
  const most = Math.max(...entries.map(([, count]) => count));
  const widthMax = Math.max(5, Math.min(40, columns - nameWidth - countWidth - 6));
  return entries.map(([name, count]) => {
    const length = bar(count, most, { widthMax, blocks });
    return `${name.padEnd(nameWidth)}  ${thousands(count).padStart(countWidth)}  ${paint.cyan(length)}`;
  });
}

const CHART_COLUMNS_MAX = 200;

function timeSection({ timeline }: Analysis, { paint, columns, blocks }: AnalysisView): Section {
  const { intervals, stepMs } = timeline;
  const [only] = intervals;
  const title = "When they failed";
  if (intervals.length === 1 && only)
    return { title, note: `: within ${stepText(stepMs)} of ${minuteText(only[0])} UTC`, facts: [] };
  const chart = columnChart(intervals, { widthMax: Math.min(columns, CHART_COLUMNS_MAX) - 2, blocks });
  const lines = chart.map((line, index) => (index < chart.length - 1 ? paint.cyan(line) : paint.dim(line)));
  return { title, note: ` (UTC, a column is ${stepText(stepMs)})`, lines };
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

/** Whether the terminal can show Unicode: the locale is UTF-8, and TERM is not `dumb`. */
export function canShowBlocks(env: NodeJS.ProcessEnv): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return env.TERM !== "dumb" && /utf-?8/i.test(locale);
}

/** Renders a horizontal bar; the largest count has `widthMax` columns. A count above 0 is always visible. */
export function bar(count: number, most: number, options: { widthMax: number; blocks: boolean }): string {
  if (count <= 0 || most <= 0) return "";
  const length = (count / most) * options.widthMax;
  if (!options.blocks) return "#".repeat(Math.max(1, Math.round(length)));
  const eighths = Math.max(1, Math.round(length * 8));
  return "█".repeat(Math.floor(eighths / 8)) + (LYING_EIGHTHS[eighths % 8] ?? "");
}

const HEIGHT = 5;
const COLUMN_WIDTH_MAX = 3;

/** Renders vertical columns over time, with a scale on the left and the first and last time below. */
export function columnChart(
  intervals: readonly Interval[],
  { widthMax, blocks, height = HEIGHT }: { widthMax: number; blocks: boolean; height?: number },
): readonly string[] {
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

function cellAt(share: number, { from, height, blocks }: { from: number; height: number; blocks: boolean }) {
  const eighths = Math.ceil(share * height * 8) - from * 8;
  if (eighths <= 0) return " ";
  if (!blocks) return "#";
  return EIGHTHS[Math.min(8, eighths)] ?? " ";
}

function timesLine(intervals: readonly Interval[], { indent, length }: { indent: number; length: number }) {
  const [first, last] = [intervals[0], intervals.at(-1)];
  if (first === undefined || last === undefined) return "";
  const start = minuteText(first[0]);
  if (intervals.length === 1) return `${" ".repeat(indent)}${start}`;
  const end = minuteText(last[0]);
  const gap = Math.max(3, length - start.length - end.length);
  return `${" ".repeat(indent)}${start}${" ".repeat(gap)}${end}`;
}

export interface StatsView extends Screen {
  /** The maximum number of waiting letters of a job; null: no limit. */
  readonly itemsMax: number | null;
  /** The user named one job, which is shown in full. */
  readonly isOneJob: boolean;
}

export function statsText(all: readonly JobLetterStats[], view: StatsView): string {
  const [first] = all;
  if (first === undefined) return "No job has had letters.\n";
  return view.isOneJob ? factsText(first, view) : tableText(all, view);
}

function factsText(stats: JobLetterStats, { paint, columns, itemsMax }: StatsView): string {
  const { jobId, size, onTheirWay, oldestAgeMs, arrivedLastHour, arrivedLastDay } = stats;
  const rate = rateText(stats);
  const retried = `${thousands(stats.redriveSucceeded)} succeeded, ${thousands(stats.redriveFailed)} failed again`;
  const room =
    itemsMax === null ? "no limit" : `${percentOf(stats, itemsMax)} % of ${thousands(itemsMax)} used`;
  return detailsText(
    [
      {
        ...titleOf(jobId),
        facts: [
          ["Waiting", listed([lettersText(size), some(onTheirWay, "of them being retried")])],
          ["Oldest", oldestAgeMs === null ? "none" : `died ${formatDuration(oldestAgeMs)} ago`],
          [
            "Arrived",
            `${thousands(arrivedLastHour)} in the last hour, ${thousands(arrivedLastDay)} in the last day`,
          ],
          ["Retried", rate === "" ? "none yet" : `${retried} (${rate})`],
          ["Resolved", thousands(stats.resolved)],
          ["Discarded", thousands(stats.discarded)],
          ["Deleted", `${thousands(stats.purged)} purged, ${thousands(stats.evicted)} evicted`],
          ["Room", room],
        ],
      },
    ],
    { paint, columns },
  );
}

function rateText(stats: LetterStats): string {
  const rate = redriveSuccessRate(stats);
  return rate === null ? "" : `${Math.round(rate * 100)} %`;
}

interface Row extends LetterStats {
  readonly name: string;
  readonly percent: number | null;
}

function tableText(all: readonly JobLetterStats[], { paint, columns, itemsMax }: StatsView): string {
  const rows: Row[] = all.map((stats) => ({
    ...stats,
    name: stats.jobId,
    percent: percentOf(stats, itemsMax),
  }));
  if (rows.length > 1) rows.push({ ...sumOfStats(all), name: "all", percent: null });
  const age = ({ oldestAgeMs }: Row) => (oldestAgeMs === null ? "" : formatDuration(oldestAgeMs));
  const used = ({ percent }: Row) => (percent === null ? "" : `${percent} %`);
  return table(
    rows,
    [
      { title: "JOB", value: ({ name }) => name, paint: paint.bold, cutTo: 24 },
      { title: "WAITING", value: ({ size }) => size },
      { title: "RETRYING", value: ({ onTheirWay }) => onTheirWay, giveUp: 5 },
      { title: "OLDEST", value: age, align: "right" },
      { title: "NEW 1H", value: ({ arrivedLastHour }) => arrivedLastHour, giveUp: 3 },
      { title: "NEW 24H", value: ({ arrivedLastDay }) => arrivedLastDay, giveUp: 2 },
      { title: "RETRY OK", value: rateText, align: "right", giveUp: 1 },
      { title: "RESOLVED", value: ({ resolved }) => resolved, giveUp: 6 },
      { title: "DISCARDED", value: ({ discarded }) => discarded, giveUp: 7 },
      { title: "DELETED", value: ({ purged, evicted }) => purged + evicted, giveUp: 8 },
      { title: "USED", value: used, align: "right" },
    ],
    columns,
  );
}
