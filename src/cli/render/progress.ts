/**
 * Shows how a job proceeds: live lines on a terminal, a line now and then in a log. It observes the runner, where every call
 * must be cheap because there are thousands a second, and reads the store's counters only when it draws. It never fails a
 * job: while the store does not answer, the last numbers stay.
 */
import type { WorkError } from "../../errors.ts";
import type { Failure } from "../../item/failure.ts";
import type { LeasedItem, Settlement } from "../../item/item.ts";
import type { Outcome } from "../../item/settlement.ts";
import type { RunObserver } from "../../runner/run-options.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import { failureTitle } from "../../triage/title.ts";
import type { Context } from "../context.ts";
import { canRedraw, clean, type Paint } from "./paint.ts";
import { liveLines, type ProgressCounts, plainLine } from "./progress-line.ts";
import { ProgressScreen } from "./progress-screen.ts";
import { RateMeter, RunningItems } from "./progress-state.ts";
import { secondsText } from "./words.ts";

export interface ProgressTerminal {
  readonly stderr: NodeJS.WritableStream;
  /** Lines can be rewritten: a terminal, and not CI. */
  readonly isLive: boolean;
  /** Whether stdout is the same terminal. */
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
  /** Whether the whole input was read; called until it was. Default: it was. */
  readonly isTotalKnown?: () => Promise<boolean>;
  readonly slots: number;
  /** How many attempts the policy gives an item. Default: unknown. */
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

/** Until `begin` it only prints notes. */
export class Progress implements Observed {
  readonly #terminal: ProgressTerminal;
  readonly #screen: ProgressScreen;
  readonly #meter = new RateMeter();
  readonly #over = new AbortController();
  #work: ShownWork | undefined;
  #ticking: Promise<void> | undefined;
  /** Items that failed and are ready again in this run; other runners' items are not known. */
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
  #reported = "";

  constructor(terminal: ProgressTerminal) {
    this.#terminal = terminal;
    this.#screen = new ProgressScreen(terminal.stderr, () => this.#columns());
  }

  /** `stop` must be called afterwards, or the process stays alive. */
  begin(work: ProgressWork): void {
    const { clock, isLive } = this.#terminal;
    this.#work = { ...work, running: new RunningItems(work.slots, clock) };
    this.#isTotalKnown = work.isTotalKnown === undefined;
    this.#looking = this.#look(work); // the start of the rate: a resumed job has finished items already
    this.#ticking ??= isLive
      ? this.#everyTick(REDRAW_MS, REDRAW_MS)
      : this.#everyTick(FIRST_REPORT_MS, REPORT_MS);
  }

  /** How many items ended in this run: done, dead or skipped. Undefined when nothing was counted. */
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
    this.#reportObstacle(outcome);
    if (verdict.kind === "retry") this.#retrying.add(item.ref);
    else if (verdict.kind === "park") {
      this.#retrying.add(item.ref);
      if (outcome.kind === "failed") this.wait(outcome.failure, verdict.delayMs);
    } else if (verdict.kind !== "release") this.#finished += 1;
  }

  /** Which step an item's agent begins, from 0. */
  step(item: LeasedItem, index: number, total: number, label: string): void {
    this.#work?.running.step(item, `step ${index + 1} of ${total}: ${label}`);
  }

  /** Shows why nothing runs, and when the next try begins. */
  wait(failure: Failure, delayMs: number): void {
    const until = this.#terminal.clock.now() + delayMs;
    if (this.#work === undefined || until <= this.#parkedUntil) return;
    this.#parkedUntil = until;
    this.#parked = failureTitle(failure).title;
    this.#reportWaiting();
  }

  trouble(error: WorkError): void {
    this.#troubles += 1;
    this.#trouble = error.message;
    if (this.#work !== undefined) this.#reportWaiting();
  }

  recovered(): void {
    this.#troubles = Math.max(0, this.#troubles - 1);
  }

  /** Prints a line above the live ones. What it quotes must be clean. */
  note(text: string): void {
    this.#screen.print(text);
  }

  /** Writes to stdout without mixing it into the live lines, which begin on a new line if the output did not end one. */
  suspend(write: () => void, endsLine = true): void {
    if (this.#terminal.isLive && this.#terminal.isShared) this.#screen.above(write, endsLine);
    else write();
  }

  /** Removes the live lines at once and prints a last line. */
  leave(text: string): void {
    this.#over.abort();
    this.#screen.erase();
    this.note(text);
  }

  /** Removes the live lines and reads the store no more. */
  async stop(): Promise<void> {
    this.#over.abort();
    await this.#ticking;
    await this.#looking;
    this.#screen.erase();
  }

  /** A failing worktree keeps items from starting; it is shown at once, not when their attempts are used up. */
  #reportObstacle(outcome: Outcome): void {
    if (outcome.kind !== "failed" || outcome.failure.errorType.name !== "WorktreeError") return;
    const now = this.#terminal.clock.now();
    if (now - this.#obstacleShownAt < REPORT_MS) return;
    this.#obstacleShownAt = now;
    this.note(`redrive: WorktreeError: ${clean(outcome.failure.errorMessage)}`);
  }

  /** In a log a wait is reported when it begins, and not again with every failure. */
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

  /** While the store does not answer, the old numbers are shown with the new time. */
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
      // the runner has the same error and decides what it means
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
