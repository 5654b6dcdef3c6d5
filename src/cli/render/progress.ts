/**
 * Shows the progress of a job: live lines on a terminal, occasional lines in a log. The runner calls it thousands of times a
 * second, so every call must be cheap; the store's counters are read only for drawing. Progress never fails a job: while the
 * store is unavailable, the last numbers are shown.
 */
import type { RedriveError } from "../../errors.ts";
import type { Failure } from "../../item/failure.ts";
import { itemName, type LeasedItem, type Settlement } from "../../item/item.ts";
import type { Outcome } from "../../item/settlement.ts";
import type { RunObserver } from "../../runner/run-options.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import type { Json } from "../../std/json.ts";
import { failureTitle } from "../../triage/title.ts";
import type { Context } from "../context.ts";
import { liveLines, type ProgressCounts, plainLine } from "./progress-line.ts";
import { RateMeter, RunningItems } from "./progress-state.ts";
import { canRedraw, clean, type Paint, secondsText, width } from "./text.ts";

export interface ProgressTerminal {
  readonly stderr: NodeJS.WritableStream;
  /** Whether lines can be rewritten: on a terminal, but not in CI. */
  readonly isLive: boolean;
  /** Whether stdout is the same terminal as stderr. */
  readonly isShared: boolean;
  readonly columns: () => number;
  readonly paint: Paint;
  readonly clock: Clock;
}

export function progressTerminal({ terminal, paintNotes }: Context): ProgressTerminal {
  const { env, stdout, stderr } = terminal;
  return {
    stderr,
    isLive: canRedraw({ isTty: stderr.isTTY ?? false, env }),
    isShared: stdout.isTTY ?? false,
    columns: () => stderr.columns ?? COLUMNS_WHEN_UNKNOWN,
    paint: paintNotes,
    clock: systemClock,
  };
}

export interface ProgressWork {
  /** Called at most ten times a second. */
  readonly count: () => Promise<ProgressCounts>;
  /** Whether the whole input was read; called until it returns true. Default: true. */
  readonly isTotalKnown?: () => Promise<boolean>;
  readonly slots: number;
  /** The maximum number of attempts per item. Default: unknown. */
  readonly attemptsMax?: number;
  readonly label: string;
}

const REDRAW_MS = 100;
const FIRST_REPORT_MS = 10_000;
const REPORT_MS = 30_000;
const COLUMNS_WHEN_UNKNOWN = 80;

interface ShownWork extends ProgressWork {
  readonly running: RunningItems;
}

type Observed = Required<Pick<RunObserver, "started" | "settled" | "trouble" | "recovered">>;

/** Shows progress after `begin`; before that, it only prints notes. */
export class Progress implements Observed {
  readonly #terminal: ProgressTerminal;
  readonly #screen: ProgressScreen;
  readonly #meter = new RateMeter();
  readonly #over = new AbortController();
  #work: ShownWork | undefined;
  #ticking: Promise<void> | undefined;
  /** Items of this runner that failed and are ready again. Retries of other runners are unknown. */
  readonly #retrying = new Set<number>();
  #finished = 0;
  #counts: ProgressCounts | null = null;
  #isTotalKnown = false;
  #looking: Promise<void> | undefined;
  #isLooking = false;
  #troubles = 0;
  #trouble = "";
  #troubleSaidAt = Number.NEGATIVE_INFINITY;
  #obstacleShownAt = Number.NEGATIVE_INFINITY;
  #parkedUntil = 0;
  #parked = "";
  #lastFailure: string | undefined;
  #reported = "";

  constructor(terminal: ProgressTerminal) {
    this.#terminal = terminal;
    this.#screen = new ProgressScreen(terminal.stderr, () => this.#columns());
  }

  /** Starts the display. The caller must call `stop`, or the process does not exit. */
  begin(work: ProgressWork): void {
    const { clock, isLive } = this.#terminal;
    this.#work = { ...work, running: new RunningItems(work.slots, clock) };
    this.#isTotalKnown = work.isTotalKnown === undefined;
    this.#looking = this.#look(work); // sets the base of the rate: a resumed job already has finished items
    this.#ticking ??= isLive
      ? this.#everyTick(REDRAW_MS, REDRAW_MS)
      : this.#everyTick(FIRST_REPORT_MS, REPORT_MS);
  }

  /** The number of items that ended in this run (done, dead or skipped); undefined if nothing was counted. */
  get finished(): number | undefined {
    return this.#work && this.#finished;
  }

  started(item: LeasedItem, slot: number): void {
    this.#retrying.delete(item.ref);
    this.#work?.running.started(item, slot);
  }

  settled(item: LeasedItem, { verdict }: Settlement, outcome: Outcome): void {
    if (this.#work === undefined) return;
    this.#work.running.ended(item);
    if (outcome.kind === "failed") this.#lastFailure = failureText(item, outcome.failure);
    this.#reportObstacle(outcome);
    if (verdict.kind === "retry") this.#retrying.add(item.ref);
    else if (verdict.kind === "park") {
      this.#retrying.add(item.ref);
      if (outcome.kind === "failed") this.wait(outcome.failure, verdict.delayMs);
    } else if (verdict.kind !== "release") this.#finished += 1;
  }

  /** Reports the step that an item's agent begins, counted from 0. */
  step(item: LeasedItem, index: number, total: number, label: string): void {
    this.#work?.running.step(item, `step ${index + 1} of ${total}: ${label}`);
  }

  progress(item: LeasedItem, value: Json): void {
    this.#work?.running.progress(item, value);
  }

  wait(failure: Failure, delayMs: number): void {
    const until = this.#terminal.clock.now() + delayMs;
    if (this.#work === undefined || until <= this.#parkedUntil) return;
    this.#parkedUntil = until;
    this.#parked = failureTitle(failure).title;
    this.#reportWaiting();
  }

  trouble(error: RedriveError): void {
    this.#troubles += 1;
    this.#trouble = error.message;
    if (this.#work !== undefined) this.#reportWaiting();
  }

  recovered(): void {
    this.#troubles = Math.max(0, this.#troubles - 1);
  }

  /** Prints a line above the live lines. Callers must clean quoted text. */
  note(text: string): void {
    this.#screen.print(text);
  }

  /** Writes to stdout above the live lines, which start on a new line if the output did not end with one. */
  suspend(write: () => void, endsLine = true): void {
    if (this.#terminal.isLive && this.#terminal.isShared) this.#screen.above(write, endsLine);
    else write();
  }

  /** Removes the live lines immediately and prints a last line. */
  leave(text: string): void {
    this.#over.abort();
    this.#screen.erase();
    this.note(text);
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#ticking;
    await this.#looking;
    this.#screen.erase();
  }

  /** Reports a worktree error immediately, because no item can start until it is resolved. */
  #reportObstacle(outcome: Outcome): void {
    if (outcome.kind !== "failed" || outcome.failure.errorType.name !== "WorktreeError") return;
    const now = this.#terminal.clock.now();
    if (now - this.#obstacleShownAt < REPORT_MS) return;
    this.#obstacleShownAt = now;
    this.note(`redrive: WorktreeError: ${clean(outcome.failure.errorMessage)}`);
  }

  /** Reports a wait in a log when it begins, but not again with every failure. */
  #reportWaiting(): void {
    const now = this.#terminal.clock.now();
    if (this.#terminal.isLive || now - this.#troubleSaidAt < REPORT_MS) return;
    this.#troubleSaidAt = now;
    this.note(`redrive: waiting: ${clean(this.#waiting() ?? "")}`);
  }

  async #everyTick(firstMs: number, nextMs: number): Promise<void> {
    const { clock } = this.#terminal;
    for (let pauseMs = firstMs; ; pauseMs = nextMs) {
      await clock.sleep(pauseMs, this.#over.signal);
      if (this.#over.signal.aborted) return;
      this.#tick();
    }
  }

  /** Redraws. While a read of the store is pending, the old numbers are shown with the new time. */
  #tick(): void {
    if (this.#work === undefined) return;
    if (this.#isLooking) this.#show(this.#work);
    else this.#looking = this.#look(this.#work).then(() => this.#work && this.#show(this.#work));
  }

  async #look({ count, isTotalKnown }: ProgressWork): Promise<void> {
    this.#isLooking = true;
    try {
      if (!this.#isTotalKnown) this.#isTotalKnown = (await isTotalKnown?.()) ?? true;
      this.#counts = await count();
      const { done, dead, skipped } = this.#counts;
      this.#meter.add(this.#terminal.clock.now(), done + dead + skipped);
    } catch {
      // The runner gets the same error and handles it.
    } finally {
      this.#isLooking = false;
    }
  }

  #show({ running, attemptsMax, label }: ShownWork): void {
    if (this.#over.signal.aborted) return;
    const view = {
      counts: this.#counts,
      isTotalKnown: this.#isTotalKnown,
      retrying: this.#retrying.size,
      rate: this.#meter.rate(),
      slowest: running.slowest(),
      agents: running.agents(),
      lastFailure: this.#lastFailure,
      attemptsMax,
      waiting: this.#waiting(),
      label,
    };
    const { isLive, stderr, paint } = this.#terminal;
    if (isLive) {
      this.#screen.draw(liveLines(view, { columns: this.#columns(), paint }));
      return;
    }
    const line = view.counts === null ? this.#reported : plainLine(view);
    if (line !== this.#reported) stderr.write(`${line}\n`);
    this.#reported = line;
  }

  #waiting(): string | null {
    if (this.#troubles > 0) return this.#trouble;
    const leftMs = this.#parkedUntil - this.#terminal.clock.now();
    return leftMs > 0 ? `next try in ${secondsText(leftMs)} (${this.#parked})` : null;
  }

  #columns(): number {
    return this.#terminal.columns() || COLUMNS_WHEN_UNKNOWN;
  }
}

/** Example: `order-7: cargo test failed with exit code 101`. */
function failureText(item: LeasedItem, failure: Failure): string {
  return clean(`${itemName(item)}: ${failure.errorMessage}`);
}

const CLEAR_BELOW = "\x1b[J";

export class ProgressScreen {
  readonly #stream: NodeJS.WritableStream;
  readonly #columns: () => number;
  #painted: readonly string[] = [];
  #widths: readonly number[] = [];
  /** Whether the last output did not end with a line break. */
  #isLineOpen = false;

  constructor(stream: NodeJS.WritableStream, columns: () => number) {
    this.#stream = stream;
    this.#columns = columns;
  }

  /** Replaces the lines. Each must fit the terminal's width. */
  draw(lines: readonly Line[]): void {
    const painted = lines.map((line) => line.painted);
    if (isSame(painted, this.#painted)) return;
    this.#stream.write(this.#toTop() + this.#closeLine() + painted.join("\n"));
    this.#painted = painted;
    this.#widths = lines.map((line) => width(line.text));
  }

  /** Removes the lines, writes other output, and draws the lines again below it. */
  above(write: () => void, endsLine: boolean): void {
    const isShown = this.#painted.length > 0;
    if (isShown) this.#stream.write(this.#toTop());
    write();
    this.#isLineOpen = !endsLine;
    if (isShown) this.#stream.write(this.#closeLine() + this.#painted.join("\n"));
  }

  print(text: string): void {
    this.above(() => this.#stream.write(`${this.#closeLine()}${text}\n`), true);
  }

  /** Removes the lines and ends an unfinished line of output. */
  erase(): void {
    this.draw([]);
    if (this.#isLineOpen) this.#stream.write(this.#closeLine());
  }

  #closeLine(): string {
    const end = this.#isLineOpen ? "\n" : "";
    this.#isLineOpen = false;
    return end;
  }

  /** Moves to the first line and clears the rest of the screen. */
  #toTop(): string {
    if (this.#painted.length === 0) return "";
    const up = this.#rows() - 1;
    return `\r\x1b[2K${up > 0 ? `\x1b[${up}A` : ""}${CLEAR_BELOW}`;
  }

  /** Counts the rows on the screen: if the terminal became narrower, it has wrapped the lines. */
  #rows(): number {
    const columns = Math.max(1, this.#columns());
    return this.#widths.reduce((sum, own) => sum + Math.max(1, Math.ceil(own / columns)), 0);
  }
}

export interface Line {
  readonly text: string;
  readonly painted: string;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((line, index) => line === others[index]);
}
