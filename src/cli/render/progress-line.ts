/** Formats the state of a run as progress lines. Pure: it neither counts nor writes. */
import type { QueueCounts } from "../../engine.ts";
import type { Line } from "./progress.ts";
import type { Rate } from "./progress-state.ts";
import { fit, type Paint, rateText, type Screen, secondsText, type Tint, thousands, width } from "./text.ts";

export type ProgressCounts = Pick<
  QueueCounts,
  "total" | "ready" | "leased" | "held" | "done" | "dead" | "skipped"
>;

export interface ProgressView {
  /** Null until the counts have been read. */
  readonly counts: ProgressCounts | null;
  /** False while the input is still being read. */
  readonly isTotalKnown: boolean;
  readonly retrying: number;
  readonly rate: Rate | null;
  readonly slowest: Slowest | null;
  /** Empty if items have no steps. */
  readonly agents: readonly AgentView[];
  /** The maximum number of attempts per item; undefined if unknown. */
  readonly attemptsMax?: number | undefined;
  /** The last failure, e.g. `order-7: cargo test failed with exit code 101`; undefined while nothing has failed. */
  readonly lastFailure?: string | undefined;
  /** The reason why no item can run; null if items can run. */
  readonly waiting: string | null;
  readonly label: string;
}

export interface AgentView extends Slowest {
  /** The current step, e.g. `step 2 of 5: shell: cargo test`. */
  readonly step: string;
  /** The last action of an agent and its cost, e.g. `Edit src/a.ts · $0.12`. */
  readonly activity?: string | undefined;
}

export interface Slowest {
  readonly name: string;
  readonly attempt: number;
  readonly elapsedMs: number;
}

const INDENT = "  ";

/** Formats lines for a terminal: counters, then the reason for a wait, the agents or the slowest item. */
export function liveLines(view: ProgressView, options: Screen): readonly Line[] {
  const columns = options.columns - 1; // some terminals wrap a line that fills the last column
  const lines: Line[] = [];
  if (view.counts !== null && !isEmptySoFar(view, view.counts))
    lines.push(counterLine(view, view.counts, { ...options, columns }));
  const tint = view.waiting === null ? options.paint.dim : options.paint.yellow;
  for (const detail of detailTexts(view, columns - INDENT.length)) {
    lines.push({ text: INDENT + detail, painted: INDENT + tint(detail) });
  }
  if (view.lastFailure !== undefined) {
    const text = fit(`last failure: ${view.lastFailure}`, columns - INDENT.length);
    lines.push({ text: INDENT + text, painted: INDENT + options.paint.red(text) });
  }
  return lines;
}

/** Whether there is nothing to count yet, for example during the setup of a workflow. */
function isEmptySoFar({ isTotalKnown }: ProgressView, { total }: ProgressCounts): boolean {
  return !isTotalKnown && total === 0;
}

const AGENTS_SHOWN_MAX = 8;

function detailTexts(view: ProgressView, columns: number): readonly string[] {
  if (view.waiting !== null || view.agents.length === 0) {
    const detail = detailText(view, columns);
    return detail === null ? [] : [detail];
  }
  const shown = view.agents.slice(0, AGENTS_SHOWN_MAX);
  const hidden = view.agents.length - shown.length;
  const nameColumns = Math.min(
    Math.max(NAME_COLUMNS_MIN, Math.floor(columns / 3)),
    Math.max(...shown.map(({ name }) => width(name))),
  );
  const lines = shown.map((agent) => agentText(agent, view.attemptsMax, { columns, nameColumns }));
  return hidden > 0 ? [...lines, `and ${hidden} more`] : lines;
}

const NAME_COLUMNS_MIN = 8;

/** Formats an agent: `src/a.ts  step 2 of 3: shell: npm test  (attempt 2 of 3, 34 s)`. */
function agentText(
  agent: AgentView,
  attemptsMax: number | undefined,
  room: { columns: number; nameColumns: number },
): string {
  const { name, elapsedMs } = agent;
  const after = `  (${attemptText(agent, attemptsMax)}${secondsText(elapsedMs)})`;
  const label = fit(name, room.nameColumns);
  const before = `${label}${" ".repeat(room.nameColumns - width(label))}  `;
  const columns = Math.max(8, room.columns - room.nameColumns - 2 - after.length);
  const { activity } = agent;
  if (activity === undefined) return fit(before + fit(agent.step, columns) + after, room.columns);
  const step = fit(agent.step, Math.max(8, Math.floor(columns / 2)));
  const done = fit(activity, Math.max(8, columns - width(step) - 3));
  return fit(`${before}${step} · ${done}${after}`, room.columns);
}

/** Omits the maximum if it is exceeded, because a redrive may allow more attempts than the policy. */
function attemptText({ attempt }: AgentView, attemptsMax: number | undefined): string {
  if (attempt === 1) return "";
  const of = attemptsMax !== undefined && attempt <= attemptsMax ? ` of ${attemptsMax}` : "";
  return `attempt ${attempt}${of}, `;
}

/** Formats all progress on one line for a log. */
export function plainLine(view: ProgressView): string {
  const { counts, waiting } = view;
  const parts = counts === null ? [] : segmentsOf(view, counts, PLAIN_ORDER).map(({ text }) => text);
  if (waiting !== null) parts.push(`waiting: ${waiting}`);
  return `redrive: ${fit(parts.join(", "), PLAIN_COLUMNS_MAX)}`;
}

const PLAIN_COLUMNS_MAX = 400;

/** A part of the counter line. Parts with the lowest weight are dropped first if there is no room. */
interface Segment {
  readonly text: string;
  readonly weight: number;
  readonly tint: (paint: Paint) => Tint;
}

function counterLine(view: ProgressView, counts: ProgressCounts, options: Screen): Line {
  const { columns, paint } = options;
  const bar = view.isTotalKnown ? barOf(counts, options) : null;
  const before = bar === null ? INDENT : `${INDENT}${bar.text}${INDENT}`;
  const all = segmentsOf(view, counts, LIVE_ORDER);
  const kept = thatFit(columns < LABEL_FROM_COLUMNS ? all : [labelOf(view), ...all], columns - before.length);
  const text = before + kept.map((segment) => segment.text).join(" · ");
  const painted = kept.map((segment) => segment.tint(paint)(segment.text)).join(paint.dim(" · "));
  return { text, painted: (bar === null ? INDENT : `${INDENT}${bar.painted}${INDENT}`) + painted };
}

/** The parts of the counter line in order. Most parts are hidden while they are 0. */
type Part = "done" | "running" | "retrying" | "dead" | "skipped" | "rate" | "eta";
const LIVE_ORDER: readonly Part[] = ["done", "running", "retrying", "dead", "skipped", "rate", "eta"];
const PLAIN_ORDER: readonly Part[] = ["done", "dead", "skipped", "retrying", "running", "rate"];

const plain = () => (text: string) => text;

function segmentsOf(view: ProgressView, counts: ProgressCounts, order: readonly Part[]): Segment[] {
  const { rate, retrying } = view;
  const some = (count: number, word: string) => (count === 0 ? "" : `${thousands(count)} ${word}`);
  const isLive = order === LIVE_ORDER;
  const isOver = view.isTotalKnown && counts.total > 0 && counts.ready + counts.leased === 0;
  const parts: Readonly<Record<Part, Segment>> = {
    done: { text: doneText(view, counts, isLive ? "/" : " of "), weight: 9, tint: (paint) => paint.bold },
    dead: { text: some(counts.dead, "dead"), weight: 6, tint: (paint) => paint.red },
    eta: { text: etaText(view, counts), weight: 5, tint: plain },
    retrying: {
      text: some(Math.min(retrying, counts.ready), "retrying"),
      weight: 4,
      tint: (paint) => paint.yellow,
    },
    skipped: { text: some(counts.skipped, "skipped"), weight: 3, tint: (paint) => paint.yellow },
    running: { text: isOver ? "" : `${thousands(counts.leased)} running`, weight: 2, tint: plain },
    rate: { text: rate === null || isOver ? "" : rateText(rate.perSecond), weight: 1, tint: plain },
  };
  return order.map((part) => parts[part]).filter(({ text }) => text !== "");
}

function doneText({ isTotalKnown }: ProgressView, { done, total }: ProgressCounts, of: string): string {
  return isTotalKnown
    ? `${thousands(done)}${of}${thousands(total)} done`
    : `${thousands(done)} done of ${thousands(total)} so far`;
}

/** Returns an empty text while the end of the input is unknown or the rate is not steady. */
function etaText({ isTotalKnown, rate }: ProgressView, { ready, leased }: ProgressCounts): string {
  if (!isTotalKnown || rate === null || !rate.isSteady || ready + leased === 0) return "";
  return `ETA ${secondsText(((ready + leased) * 1000) / rate.perSecond)}`;
}

/** The minimum width for showing the name of the job. */
const LABEL_FROM_COLUMNS = 110;
const LABEL_COLUMNS_MAX = 24;

function labelOf({ label }: ProgressView): Segment {
  return { text: fit(label, LABEL_COLUMNS_MAX), weight: 0, tint: (paint) => paint.cyan };
}

/** Drops the parts with the lowest weight until the rest fits; cuts the last one if necessary. */
function thatFit(segments: readonly Segment[], columns: number): readonly Segment[] {
  let kept = segments.filter(({ text }) => text !== "");
  while (kept.length > 1 && width(kept.map(({ text }) => text).join(" · ")) > columns) {
    const lightest = kept.reduce((light, segment) => (segment.weight < light.weight ? segment : light));
    kept = kept.filter((segment) => segment !== lightest);
  }
  return kept.map((segment) => ({ ...segment, text: fit(segment.text, columns) }));
}

/** The bar's width changes in steps, so that it does not vary with the digits next to it. */
const BAR_COLUMNS: readonly (readonly [fromColumns: number, cells: number])[] = [
  [119, 24],
  [99, 16],
  [60, 8],
];

function barOf({ total, ready, leased, held, dead }: ProgressCounts, options: Screen): Line | null {
  const cells = BAR_COLUMNS.find(([fromColumns]) => options.columns >= fromColumns)?.[1];
  if (cells === undefined || total === 0) return null;
  const ended = Math.floor((cells * (total - ready - leased - held)) / total);
  const red = dead === 0 ? 0 : Math.min(ended, Math.max(1, Math.round((cells * dead) / total)));
  const [good, bad, open] = ["━".repeat(ended - red), "━".repeat(red), "─".repeat(cells - ended)];
  const { paint } = options;
  return { text: good + bad + open, painted: paint.green(good) + paint.red(bad) + paint.dim(open) };
}

/** Items that run for a shorter time change too quickly to be read. */
const SLOW_FROM_MS = 3000;

function detailText({ waiting, slowest }: ProgressView, columns: number): string | null {
  if (waiting !== null) return fit(`waiting: ${waiting}`, columns);
  if (slowest === null || slowest.elapsedMs < SLOW_FROM_MS) return null;
  const attempt = slowest.attempt > 1 ? `attempt ${slowest.attempt}, ` : "";
  const after = ` (${attempt}${secondsText(slowest.elapsedMs)})`;
  return fit(`slowest: ${fit(slowest.name, Math.max(8, columns - 9 - after.length))}${after}`, columns);
}
