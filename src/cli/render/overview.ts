/** Renders the overview of a store: totals, the largest groups, queues, jobs and operations. */
import { isStanding } from "../../item/job.ts";
import type { Operation } from "../../item/operation.ts";
import type { GroupSummary } from "../../redrive/groups.ts";
import type { Metrics, QueueMetrics } from "../../service/metrics.ts";
import { formatDuration } from "../../std/duration.ts";
import { type Column, groupTable, stepLines, table } from "./layout.ts";
import { countsText, statusTint } from "./operation.ts";
import { agoText, counted, lettersText, type Screen, some, thousands } from "./text.ts";

interface Overview {
  readonly metrics: Metrics;
  /** Open groups, largest first. */
  readonly groups: readonly GroupSummary[];
  readonly operations: readonly Operation[];
}

const ROWS_MAX = 8;

export function overviewText({ metrics, groups, operations }: Overview, screen: Screen): string {
  const { at, queues } = metrics;
  const standing = queues.filter(({ kind }) => isStanding({ kind }));
  const jobs = queues.filter(({ kind, counts }) => !isStanding({ kind }) && isActive(counts));
  return [
    `${totalsText(metrics, groups, screen)}\n`,
    section("Largest groups", groups, screen, (shown) => groupRows(shown, at, screen)),
    section("Queues", standing, screen, (shown) => queueRows("QUEUE", shown, screen)),
    section("Jobs", jobs, screen, (shown) => queueRows("JOB", shown, screen)),
    section("Operations", operations, screen, (shown) => operationRows(shown, screen)),
    nextText(metrics, groups, screen),
  ]
    .filter(Boolean)
    .join("\n");
}

function isActive({ ready, leased, dead }: QueueMetrics["counts"]): boolean {
  return ready + leased + dead > 0;
}

function sumOf({ queues }: Metrics, read: (queue: QueueMetrics) => number): number {
  return queues.reduce((sum, queue) => sum + read(queue), 0);
}

/** For example `83 letters in 4 groups · 12 ready · 3 running · 2 workers`. */
function totalsText(metrics: Metrics, groups: readonly GroupSummary[], { paint }: Screen): string {
  const dead = sumOf(metrics, ({ counts }) => counts.dead);
  const letters = `${lettersText(dead)} in ${counted(groups.length, "group")}`;
  const workers = sumOf(metrics, (queue) => queue.workers);
  return [
    dead === 0 ? paint.green("No dead letters") : paint.red(letters),
    `${thousands(sumOf(metrics, ({ counts }) => counts.ready))} ready`,
    `${thousands(sumOf(metrics, ({ counts }) => counts.leased))} running`,
    some(
      sumOf(metrics, ({ counts }) => counts.held),
      "held",
    ),
    some(workers, workers === 1 ? "worker" : "workers"),
  ]
    .filter(Boolean)
    .join(" · ");
}

function section<Row>(
  title: string,
  rows: readonly Row[],
  { paint }: Screen,
  render: (shown: readonly Row[]) => string,
): string {
  if (rows.length === 0) return "";
  const left = rows.length - ROWS_MAX;
  const more = left > 0 ? paint.dim(`… and ${thousands(left)} more\n`) : "";
  return `${paint.bold(title)}\n${render(rows.slice(0, ROWS_MAX))}${more}`;
}

function groupRows(groups: readonly GroupSummary[], at: number, screen: Screen): string {
  const tint = (cell: string, { isRegression }: GroupSummary) =>
    isRegression ? screen.paint.red(cell) : cell;
  return groupTable(
    groups,
    [
      { title: "GROUP", value: ({ signature }) => signature },
      { title: "LETTERS", value: ({ count }) => count, paint: tint },
      { title: "LAST", value: ({ lastAt }) => (lastAt === undefined ? "" : agoText(at - lastAt)), giveUp: 2 },
    ],
    screen,
  );
}

function queueRows(title: string, queues: readonly QueueMetrics[], { paint, columns }: Screen): string {
  const cells: readonly Column<QueueMetrics>[] = [
    { title, value: ({ name, queue, kind }) => (isStanding({ kind }) ? name : queue), cutTo: 12 },
    { title: "READY", value: ({ counts }) => counts.ready },
    { title: "RUNNING", value: ({ counts }) => counts.leased },
    {
      title: "DEAD",
      value: ({ counts }) => counts.dead,
      paint: (cell, { counts }) => (counts.dead > 0 ? paint.red(cell) : cell),
    },
    { title: "WORKERS", value: ({ workers }) => workers, giveUp: 2 },
    { title: "OLDEST READY", value: oldestText, align: "right", giveUp: 1 },
    { title: "NOTE", value: noteOf, giveUp: 3 },
  ];
  return table(queues, cells, columns);
}

function oldestText({ oldestReadyMs }: QueueMetrics): string {
  return oldestReadyMs === null ? "" : formatDuration(oldestReadyMs);
}

function noteOf({ isPaused, breaker, counts, workers }: QueueMetrics): string {
  if (isPaused) return "paused";
  if (breaker === "open") return "breaker open";
  return counts.ready > 0 && workers === 0 ? "no worker" : "";
}

function operationRows(operations: readonly Operation[], { paint, columns }: Screen): string {
  return table(
    operations,
    [
      { title: "OPERATION", value: ({ id }) => id },
      { title: "KIND", value: ({ kind }) => kind },
      {
        title: "STATUS",
        value: ({ status }) => status,
        paint: (cell, { status }) => statusTint(paint, status)(cell),
      },
      { title: "LETTERS", value: countsText },
    ],
    columns,
  );
}

function nextText(metrics: Metrics, [largest]: readonly GroupSummary[], screen: Screen): string {
  const steps =
    largest === undefined
      ? metrics.queues.length === 0
        ? ([["redrive demo", "try Redrive out"]] as const)
        : []
      : ([
          [`redrive groups show ${largest.signature}`, "see the largest group"],
          ["redrive console", "see everything in the browser"],
        ] as const);
  const lines = stepLines(steps, screen).map((line) => `  ${line}\n`);
  return lines.length === 0 ? "" : `${screen.paint.bold("Next:")}\n${lines.join("")}`;
}
