/**
 * What a person sees while a job runs: live lines on a terminal, a line now and then in a log. It listens to the runner,
 * where every call is cheap because there are thousands a second, and asks the store for its counters only when it shows
 * something. It never fails a job: a store that does not answer leaves the last numbers standing.
 */
import type { WorkError } from "../../errors.ts";
import type { Failure } from "../../item/failure.ts";
import type { LeasedItem, Settlement } from "../../item/item.ts";
import type { Outcome } from "../../item/settlement.ts";
import type { RunObserver } from "../../runner/run-options.ts";
import type { Clock } from "../../std/clock.ts";
import { failureTitle } from "../../triage/title.ts";
import { clean, type Paint } from "./paint.ts";
import { liveLines, type ProgressCounts, type ProgressView, plainLine } from "./progress-line.ts";
import { ProgressScreen } from "./progress-screen.ts";
import { RateMeter, RunningItems } from "./progress-state.ts";
import { secondsText } from "./words.ts";

export interface ProgressOptions {
  readonly stderr: NodeJS.WritableStream;
  /** Lines can be rewritten: a terminal, and not CI. */
  readonly isLive: boolean;
  readonly columns: () => number;
  readonly paint: Paint;
  readonly clock: Clock;
  /** Asked at most ten times a second. */
  readonly count: () => Promise<ProgressCounts>;
  /** Whether all of the input was taken in; asked until it is. Default: it was. */
  readonly isTotalKnown?: () => Promise<boolean>;
  /** How many attempts run at a time. */
  readonly slots: number;
  /** How many attempts the policy gives an item. Default: nobody says. */
  readonly attemptsMax?: number;
  /** What the job is called. */
  readonly label: string;
}

export interface Progress
  extends Required<Pick<RunObserver, "started" | "settled" | "trouble" | "recovered">> {
  /** How many items came to their end in this run: done, dead or skipped. */
  readonly finished: number;
  /** Which step an item's agent begins, from 0. */
  step(item: LeasedItem, index: number, total: number, label: string): void;
  /** Shows why nothing runs, and when the next try begins. */
  wait(failure: Failure, delayMs: number): void;
  /** Prints a line above the live ones. What it quotes must be clean. */
  note(text: string): void;
  /**
   * Lets something else be written to the terminal without mixing it into the live lines. Output that does not end with
   * a line break has to say so; the live lines then begin on a line of their own.
   */
  suspend(write: () => void, endsLine?: boolean): void;
  /** Takes the live lines away and stops asking the store. It has to be called, or the process stays alive. */
  stop(): Promise<void>;
  /** Removes the live lines at once and prints a last line. */
  leave(text: string): void;
}

export function startProgress(options: ProgressOptions): Progress {
  return new RunProgress(options);
}

const REDRAW_MS = 100;
const FIRST_REPORT_MS = 10_000;
const REPORT_MS = 30_000;
const COLUMNS_WHEN_UNKNOWN = 80;

class RunProgress implements Progress {
  readonly #options: ProgressOptions;
  readonly #screen: ProgressScreen;
  readonly #running: RunningItems;
  readonly #meter = new RateMeter();
  readonly #over = new AbortController();
  readonly #ticking: Promise<void>;
  /** Items that failed and are back in line; exact for this runner, blind for what others or earlier runs left. */
  readonly #retrying = new Set<number>();
  #finished = 0;
  #counts: ProgressCounts | null = null;
  #isTotalKnown: boolean;
  #looking: Promise<void>;
  #isLooking = false;
  #troubles = 0;
  #trouble = "";
  #troubleSaidAt = Number.NEGATIVE_INFINITY;
  #obstacleShownAt = Number.NEGATIVE_INFINITY;
  #parkedUntil = 0;
  #parked = "";
  #reported = "";

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#screen = new ProgressScreen({ stream: options.stderr, columns: () => this.#columns() });
    this.#running = new RunningItems(options.slots, options.clock);
    this.#isTotalKnown = options.isTotalKnown === undefined;
    this.#looking = this.#look(); // where the rate starts from: a resumed job has finished items already
    this.#ticking = options.isLive
      ? this.#everyTick(REDRAW_MS, REDRAW_MS)
      : this.#everyTick(FIRST_REPORT_MS, REPORT_MS);
  }

  get finished(): number {
    return this.#finished;
  }

  started(item: LeasedItem, slot: number): void {
    this.#retrying.delete(item.ref);
    this.#running.started(item, slot);
  }

  settled(item: LeasedItem, { verdict }: Settlement, outcome: Outcome): void {
    this.#running.ended(item);
    this.#reportObstacle(outcome);
    if (verdict.kind === "retry") this.#retrying.add(item.ref);
    else if (verdict.kind === "park") {
      this.#retrying.add(item.ref);
      if (outcome.kind === "failed") this.wait(outcome.failure, verdict.delayMs);
    } else if (verdict.kind !== "release") this.#finished += 1;
  }

  step(item: LeasedItem, index: number, total: number, label: string): void {
    this.#running.step(item, `step ${index + 1} of ${total}: ${label}`);
  }

  wait(failure: Failure, delayMs: number): void {
    const until = this.#options.clock.now() + delayMs;
    if (until <= this.#parkedUntil) return;
    this.#parkedUntil = until;
    this.#parked = failureTitle(failure).title;
    this.#sayWaiting();
  }

  trouble(error: WorkError): void {
    this.#troubles += 1;
    this.#trouble = error.message;
    const now = this.#options.clock.now();
    if (this.#options.isLive || now - this.#troubleSaidAt < REPORT_MS) return;
    this.#troubleSaidAt = now; // a store that comes and goes is not told of each time
    this.note(`redrive: waiting: ${clean(error.message)}`);
  }

  recovered(): void {
    this.#troubles = Math.max(0, this.#troubles - 1);
  }

  note(text: string): void {
    this.#screen.print(text);
  }

  suspend(write: () => void, endsLine = true): void {
    if (this.#options.isLive) this.#screen.above(write, endsLine);
    else write();
  }

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

  /** What keeps items from being started is shown at once, not when their attempts are used up. */
  #reportObstacle(outcome: Outcome): void {
    if (outcome.kind !== "failed" || outcome.failure.errorType.name !== "WorktreeError") return;
    const now = this.#options.clock.now();
    if (now - this.#obstacleShownAt < REPORT_MS) return;
    this.#obstacleShownAt = now;
    this.note(`redrive: WorktreeError: ${clean(outcome.failure.errorMessage)}`);
  }

  /** In a log a wait is reported when it begins, and not again with every failure. */
  #sayWaiting(): void {
    const now = this.#options.clock.now();
    if (this.#options.isLive || now - this.#troubleSaidAt < REPORT_MS) return;
    this.#troubleSaidAt = now;
    this.note(`redrive: waiting: ${clean(this.#waiting() ?? "")}`);
  }

  async #everyTick(firstMs: number, nextMs: number): Promise<void> {
    const { clock } = this.#options;
    for (let pauseMs = firstMs; ; pauseMs = nextMs) {
      await clock.sleep(pauseMs, this.#over.signal);
      if (this.#over.signal.aborted) return;
      this.#tick();
    }
  }

  /** Shows new numbers when the store has answered; while it does not, the clock goes on with the old ones. */
  #tick(): void {
    if (this.#isLooking) this.#show();
    else this.#looking = this.#look().then(() => this.#show());
  }

  async #look(): Promise<void> {
    const { count, isTotalKnown, clock } = this.#options;
    this.#isLooking = true;
    try {
      if (!this.#isTotalKnown) this.#isTotalKnown = (await isTotalKnown?.()) ?? true;
      this.#counts = await count();
      const { done, dead, skipped } = this.#counts;
      this.#meter.add(clock.now(), done + dead + skipped);
    } catch {
      // the runner meets the same trouble, and is the one that decides what it means
    } finally {
      this.#isLooking = false;
    }
  }

  #show(): void {
    if (this.#over.signal.aborted) return;
    const view = this.#view();
    const { isLive, stderr, paint } = this.#options;
    if (isLive) this.#screen.draw(liveLines(view, { columns: this.#columns(), paint }));
    else if (view.counts !== null) this.#report(plainLine(view), stderr);
  }

  /** What stands still, as an idle queue does, is not told again and again. */
  #report(line: string, stderr: NodeJS.WritableStream): void {
    if (line !== this.#reported) stderr.write(`${line}\n`);
    this.#reported = line;
  }

  #view(): ProgressView {
    return {
      counts: this.#counts,
      isTotalKnown: this.#isTotalKnown,
      retrying: this.#retrying.size,
      rate: this.#meter.rate(),
      slowest: this.#running.slowest(),
      agents: this.#running.agents(),
      attemptsMax: this.#options.attemptsMax,
      waiting: this.#waiting(),
      label: this.#options.label,
    };
  }

  #waiting(): string | null {
    if (this.#troubles > 0) return this.#trouble;
    const leftMs = this.#parkedUntil - this.#options.clock.now();
    return leftMs > 0 ? `next try in ${secondsText(leftMs)} (${this.#parked})` : null;
  }

  #columns(): number {
    return this.#options.columns() || COLUMNS_WHEN_UNKNOWN;
  }
}
