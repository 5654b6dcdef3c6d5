/**
 * Renders a worker's output: its queues, live counters over all of them, and a summary; in a log, the same as plain lines.
 * With --json, prints only one document at the end.
 */
import type { Engine } from "../../engine.ts";
import type { RedriveError } from "../../errors.ts";
import type { Settlement } from "../../item/item.ts";
import type { Job } from "../../item/job.ts";
import type { RunObserver, RunResult, Waiting } from "../../runner/run-options.ts";
import { systemClock, toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";
import type { JsonObject } from "../../std/json.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { CommandOutput } from "./command-output.ts";
import { Progress, progressTerminal } from "./progress.ts";
import type { ProgressCounts } from "./progress-line.ts";
import { clean, counted, some } from "./text.ts";

const NOTHING_DONE = { done: 0, dead: 0, skipped: 0, retried: 0, released: 0 };
type Counts = typeof NOTHING_DONE;

const COUNTED_AS: Readonly<Record<Settlement["verdict"]["kind"], keyof Counts>> = {
  done: "done",
  bury: "dead",
  stop: "dead",
  skip: "skipped",
  release: "released",
  retry: "retried",
  park: "retried",
};

export class WorkerScreen {
  readonly #context: Context;
  readonly #isQuiet: boolean;
  readonly #startedAt = systemClock.monotonicNow();
  readonly #progress: Progress;
  readonly #output: CommandOutput;
  readonly #left = new Map<number, Waiting>();
  #queues: readonly Job[] = [];
  #counts: Counts[] = [];
  #running = 0;
  #slots = 0;

  constructor(context: Context, isQuiet: boolean) {
    this.#context = context;
    this.#isQuiet = isQuiet;
    this.#progress = new Progress(progressTerminal(context));
    this.#output = new CommandOutput(
      context.terminal.stdout,
      isQuiet || context.isJson ? null : this.#progress,
    );
  }

  /** Also used before processing starts, because the store may not be available yet. */
  readonly storeObserver = {
    trouble: (error: RedriveError): void => {
      if (this.#progress.finished !== undefined) this.#progress.trouble(error);
      else this.note(`redrive: waiting: ${clean(error.message)}`);
    },
    recovered: (): void => this.#progress.recovered(),
  };

  open(
    engine: Engine,
    queues: readonly Job[],
    { slots, untilEmpty }: { readonly slots: number; readonly untilEmpty: boolean },
  ): void {
    this.#queues = queues;
    this.#slots = slots;
    this.#counts = queues.map(() => ({ ...NOTHING_DONE }));
    if (this.#isQuiet) return;
    const label = queues.map(({ name }) => name).join(", ");
    this.note(`Processing ${label}, ${slots} at a time${queues.length > 1 ? " of each" : ""}.`);
    this.#progress.begin({
      label,
      slots: slots * queues.length,
      isTotalKnown: async () => untilEmpty,
      count: async () => this.#ownCounts(await Promise.all(queues.map(({ id }) => engine.count(id)))),
    });
  }

  /** Combines this worker's own counts with the remaining items of the queues, which other workers may share. */
  #ownCounts(all: readonly ProgressCounts[]): ProgressCounts {
    const { done, dead, skipped } = this.#total();
    const ready = all.reduce((sum, one) => sum + one.ready, 0);
    const held = all.reduce((sum, one) => sum + one.held, 0);
    const leased = Math.max(0, this.#running);
    return { ready, held, leased, done, dead, skipped, total: ready + held + leased + done + dead + skipped };
  }

  #total(): Counts {
    const total = { ...NOTHING_DONE };
    for (const one of this.#counts) {
      for (const key of Object.keys(total) as (keyof Counts)[]) total[key] += one[key];
    }
    return total;
  }

  /** Returns the observer for the runner of one queue. Slots are numbered across all queues. */
  observer(index: number): RunObserver {
    return {
      started: (item, slot) => {
        this.#running += 1;
        this.#progress.started(item, index * this.#slots + slot);
      },
      settled: (item, settlement, outcome) => {
        this.#running -= 1;
        this.#progress.settled(item, settlement, outcome);
        const counts = this.#counts[index];
        if (counts) counts[COUNTED_AS[settlement.verdict.kind]] += 1;
        if (outcome.kind === "succeeded") this.#output.print(item, outcome);
      },
      ready: () => this.#output.ready(),
      paused: (isPaused) => {
        const { name } = this.#queueAt(index);
        this.note(
          isPaused ? `${name} is paused: no items are started until it is resumed.` : `${name} is resumed.`,
        );
      },
      ...(index === 0 && { clockStepped: (stepMs: number) => this.note(clockStepText(stepMs)) }),
      ...this.storeObserver,
    };
  }

  note(text: string): void {
    this.#progress.note(text);
  }

  /** Reports that a queue has nothing to do until the next item is due. */
  waiting(index: number, wait: Waiting): void {
    if (!this.#isQuiet) this.note(waitingText(wait, this.#queueAt(index)));
  }

  /** Records the items of a queue whose due times are too late to wait for. */
  left(index: number, wait: Waiting): void {
    this.#left.set(index, wait);
  }

  #queueAt(index: number): QueueWords {
    const { name = "", kind } = this.#queues[index] ?? {};
    return { name, word: kind === "target" ? "receipt" : "item" };
  }

  /** Removes the live lines immediately and prints a last line. */
  leave(text: string): void {
    this.#progress.leave(text);
  }

  async close(results: readonly RunResult[]): Promise<void> {
    await this.stop();
    const reason = results.find((one) => one.reason !== undefined)?.reason;
    if (this.#context.isJson) this.#context.answer(this.#document(results));
    else this.#context.note(this.#summary(reason));
  }

  async stop(): Promise<void> {
    await this.#output.flushed();
    await this.#progress.stop();
  }

  exitCode(results: readonly RunResult[]): number {
    if (results.some(({ end }) => end === "stopped")) return EXIT.failed;
    return this.#total().dead > 0 ? EXIT.lettersLeft : EXIT.done;
  }

  #summary(reason: string | undefined): string {
    const { done, dead, skipped, retried, released } = this.#total();
    const facts = [
      some(done, "done") || "0 done",
      ...[some(dead, "dead"), some(skipped, "skipped"), some(retried, "retried"), some(released, "released")],
      formatDuration(this.#elapsedMs),
    ];
    const first = this.#queues[this.#counts.findIndex((one) => one.dead > 0)];
    return [
      ...(reason === undefined ? [] : [`Stopped: ${reason}.`]),
      facts.filter(Boolean).join(" · "),
      ...[...this.#left].map(([index, wait]) => leftText(wait, this.#queueAt(index))),
      ...(first === undefined ? [] : [`  redrive dlq list --queue ${first.id}   list the letters`]),
    ].join("\n");
  }

  #document(results: readonly RunResult[]): JsonObject {
    const queues = this.#queues.map(({ id }, index) => {
      const { end = "interrupted", reason } = results[index] ?? {};
      const left = this.#left.get(index);
      return {
        queue: id,
        end,
        ...(reason !== undefined && { reason }),
        ...this.#counts[index],
        ...(left && { left: left.items, next_due_at: toRfc3339(left.nextDueAt) }),
      };
    });
    return { queues, duration_ms: this.#elapsedMs };
  }

  get #elapsedMs(): number {
    return Math.round(systemClock.monotonicNow() - this.#startedAt);
  }
}

function clockStepText(stepMs: number): string {
  const direction = stepMs < 0 ? "back" : "forward";
  return `redrive: the store's clock was set ${direction} by ${formatDuration(Math.abs(stepMs))}; retries and leases are not affected`;
}

/** Shorter waits are not reported, because they end before the line is read. */
const REPORTED_FROM_MS = 5000;

/** Ends a worker when all remaining items are due later than the time it may wait. */
export function dueBound(withinMs: number, onWait: (wait: Waiting) => void) {
  const over = new AbortController();
  let seen: Waiting | null = null;
  let reported = 0;
  return {
    /** Aborted when no remaining item is due soon enough. */
    signal: over.signal,
    /** The items that were left; null while there are none. */
    left: null as Waiting | null,
    /** Decides on the second poll, because the first may happen while another worker is releasing an item. */
    waiting(wait: Waiting): void {
      const waitMs = wait.nextDueAt - wait.now;
      const isSame = seen?.items === wait.items && seen.nextDueAt === wait.nextDueAt;
      seen = wait;
      if (waitMs > withinMs) {
        if (!isSame) return;
        this.left ??= wait;
        over.abort();
      } else if (waitMs >= REPORTED_FROM_MS && wait.nextDueAt !== reported) {
        reported = wait.nextDueAt;
        onWait(wait);
      }
    },
  };
}

interface QueueWords {
  readonly name: string;
  readonly word: "item" | "receipt";
}

export function waitingText(wait: Waiting, { name, word }: QueueWords): string {
  return `${name}: waiting for ${counted(wait.items, word)}; the next is due ${dueText(wait)}.`;
}

export function leftText(wait: Waiting, { name, word }: QueueWords): string {
  const verb = wait.items === 1 ? "is" : "are";
  return `${name}: ${counted(wait.items, word)} ${verb} left in the queue; the next is due ${dueText(wait)}.`;
}

function dueText({ nextDueAt, now }: Waiting): string {
  return `in ${formatDuration(nextDueAt - now)}, at ${toRfc3339(nextDueAt)}`;
}
