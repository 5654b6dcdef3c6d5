/** Small charts of counts: bars that lie, and columns over time. Blocks where the terminal can show them, else ASCII. */
import type { Stretch } from "../triage/time-axis.ts";
import { thousands } from "./progress-rate.ts";

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
export function columnChart(stretches: readonly Stretch[], options: ChartOptions): readonly string[] {
  const { widthMax, blocks, height = HEIGHT } = options;
  const most = Math.max(1, ...stretches.map(([, count]) => count));
  const scale = thousands(most).length;
  const room = widthMax - scale - 2;
  const wide = Math.max(1, Math.min(COLUMN_WIDTH_MAX, Math.floor(room / Math.max(1, stretches.length))));
  const rows = Array.from({ length: height }, (_, index) => {
    const from = height - 1 - index;
    const cells = stretches.map(([, count]) => cellAt(count / most, { from, height, blocks }).repeat(wide));
    const label = index === 0 ? thousands(most) : "";
    return `${label.padStart(scale)} ${blocks ? "│" : "|"}${cells.join("").trimEnd()}`;
  });
  const floor = `${"0".padStart(scale)} ${blocks ? "└" : "+"}${(blocks ? "─" : "-").repeat(stretches.length * wide)}`;
  return [...rows, floor, timesLine(stretches, { indent: scale + 2, length: stretches.length * wide })];
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
  stretches: readonly Stretch[],
  { indent, length }: { indent: number; length: number },
): string {
  const [first, last] = [stretches[0], stretches.at(-1)];
  if (first === undefined || last === undefined) return "";
  const start = timeLabel(first[0]);
  if (stretches.length === 1) return `${" ".repeat(indent)}${start}`;
  const end = timeLabel(last[0]);
  const gap = Math.max(3, length - start.length - end.length);
  return `${" ".repeat(indent)}${start}${" ".repeat(gap)}${end}`;
}

/** To the minute, in UTC. */
export function timeLabel(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}
