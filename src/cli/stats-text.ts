/** The numbers of the dead letter queue for a person: one job as a list of facts, several as a table. */
import {
  type JobLetterStats,
  type LetterStats,
  percentOf,
  redriveSuccessRate,
  sumOfStats,
} from "../dead-letter/stats.ts";
import { formatDuration } from "../kit/duration.ts";
import type { Paint } from "./paint.ts";
import { thousands } from "./progress-rate.ts";
import { type Column, table } from "./table.ts";

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

function factsText(stats: JobLetterStats, { paint, itemsMax }: StatsView): string {
  const facts: readonly (readonly [string, string])[] = [
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
  const lines = facts.map(([name, value]) => `  ${paint.dim(name.padEnd(9))} ${value}`);
  return `${paint.bold(stats.jobId)}\n${lines.join("\n")}\n`;
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
