/**
 * What a person sees of a worker: what it works, live counters over all its queues, and a summary of what it did. In a log
 * the same as plain lines. With --json nothing but the one document at the end.
 */
import type { Engine } from "../../engine.ts";
import type { WorkError } from "../../errors.ts";
import type { Settlement } from "../../item/item.ts";
import type { Job } from "../../item/job.ts";
import type { RunObserver, RunResult, Waiting } from "../../runner/run-options.ts";
import { systemClock, toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";
import type { JsonObject } from "../../std/json.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { clockStepText } from "./clock-step.ts";
import { CommandOutput } from "./command-output.ts";
import { canRedraw, clean } from "./paint.ts";
import { type Progress, startProgress } from "./progress.ts";
import type { ProgressCounts } from "./progress-line.ts";
import { thousands } from "./words.ts";

interface Tally {
  done: number;
  dead: number;
  skipped: number;
  retried: number;
  released: number;
}

const NOTHING: Tally = { done: 0, dead: 0, skipped: 0, retried: 0, released: 0 };

interface Opening {
  readonly slots: number;
  readonly untilEmpty: boolean;
}

export class WorkerScreen {
  readonly #context: Context;
  readonly #isQuiet: boolean;
  readonly #startedAt = systemClock.now();
  readonly #tallies: Tally[] = [];
  readonly #left = new Map<number, Waiting>();
  #works: readonly Job[] = [];
  #running = 0;
  #progress: Progress | null = null;
  #output: CommandOutput;
  #slots = 0;

  constructor(context: Context, isQuiet: boolean) {
    this.#context = context;
    this.#isQuiet = isQuiet;
    const beside =
      isQuiet || context.isJson ? null : { suspend: this.#suspend, note: (line: string) => this.note(line) };
    this.#output = new CommandOutput(context.terminal.stdout, beside);
  }

  /** Of a store that does not answer, also before anything is worked. */
  readonly storeObserver = {
    trouble: (error: WorkError): void => {
      if (this.#progress) this.#progress.trouble(error);
      else this.note(`redrive: waiting: ${clean(error.message)}`);
    },
    recovered: (): void => this.#progress?.recovered(),
  };

  open(engine: Engine, works: readonly Job[], { slots, untilEmpty }: Opening): void {
    this.#works = works;
    this.#slots = slots;
    for (const _ of works) this.#tallies.push({ ...NOTHING });
    if (this.#isQuiet) return;
    const names = works.map(({ name }) => name).join(", ");
    this.note(`Working ${names}, ${slots} at a time${works.length > 1 ? " of each" : ""}.`);
    const { env, stderr } = this.#context.terminal;
    this.#progress = startProgress({
      stderr,
      isLive: canRedraw({ isTty: stderr.isTTY ?? false, env }),
      columns: () => stderr.columns ?? 80,
      paint: this.#context.paintNotes,
      clock: systemClock,
      count: async () => ownCounts(await countAll(engine, works), totalOf(this.#tallies), this.#running),
      isTotalKnown: async () => untilEmpty,
      slots: slots * works.length,
      label: names,
    });
  }

  /** For the runner of one of the queues; slots are numbered over all of them. */
  observer(index: number): RunObserver {
    return {
      started: (item, slot) => {
        this.#running += 1;
        this.#progress?.started(item, index * this.#slots + slot);
      },
      settled: (item, settlement, outcome) => {
        this.#running -= 1;
        this.#progress?.settled(item, settlement, outcome);
        this.#count(index, settlement);
        if (outcome.kind === "succeeded") this.#output.print(item, outcome);
      },
      ready: () => this.#output.ready(),
      paused: (isPaused) => {
        const name = this.#works[index]?.name ?? "";
        this.note(isPaused ? `${name} is paused: nothing is begun until it is resumed.` : `${name} goes on.`);
      },
      ...(index === 0 && { clockStepped: (stepMs: number) => this.note(clockStepText(stepMs)) }),
      ...this.storeObserver,
    };
  }

  note(text: string): void {
    if (this.#progress) this.#progress.note(text);
    else this.#context.note(text);
  }

  /** One of the queues has nothing to do before the next item is due. */
  waiting(index: number, wait: Waiting): void {
    if (!this.#isQuiet) this.note(waitingText(wait, this.#lineOf(index)));
  }

  /** What one of the queues still has in line, because it is due too late to wait for it. */
  left(index: number, wait: Waiting): void {
    this.#left.set(index, wait);
  }

  #lineOf(index: number) {
    const { name = "", kind } = this.#works[index] ?? {};
    return { name, word: kind === "target" ? "receipt" : "item" } as const;
  }

  /** The process ends at once: removes the live lines and prints the last one. */
  leave(text: string): void {
    if (this.#progress) this.#progress.leave(text);
    else this.#context.note(text);
  }

  /** Takes the live lines away, and says what was done. */
  async close(results: readonly RunResult[]): Promise<void> {
    await this.stop();
    const reason = results.find(({ reason }) => reason !== undefined)?.reason;
    if (this.#context.isJson) this.#context.answer(this.#document(results), () => "");
    else this.#context.note(this.#summary(reason));
  }

  async stop(): Promise<void> {
    await this.#output.flushed();
    await this.#progress?.stop();
    this.#progress = null;
  }

  exitCode(results: readonly RunResult[]): number {
    if (results.some(({ end }) => end === "stopped")) return EXIT.failed;
    return this.#tallies.some(({ dead }) => dead > 0) ? EXIT.lettersLeft : EXIT.done;
  }

  #count(index: number, { verdict }: Settlement): void {
    const tally = this.#tallies[index];
    if (tally === undefined) return;
    if (verdict.kind === "done") tally.done += 1;
    else if (verdict.kind === "bury" || verdict.kind === "stop") tally.dead += 1;
    else if (verdict.kind === "skip") tally.skipped += 1;
    else if (verdict.kind === "release") tally.released += 1;
    else tally.retried += 1;
  }

  #summary(reason: string | undefined): string {
    const { done, dead, skipped, retried, released } = totalOf(this.#tallies);
    const some = (count: number, word: string) => (count === 0 ? [] : [`${thousands(count)} ${word}`]);
    const facts = [
      `${thousands(done)} done`,
      ...some(dead, "dead"),
      ...some(skipped, "skipped"),
      ...some(retried, "tried again"),
      ...some(released, "given back"),
      formatDuration(systemClock.now() - this.#startedAt),
    ];
    const first = this.#works[this.#tallies.findIndex(({ dead }) => dead > 0)];
    return [
      ...(reason === undefined ? [] : [`Stopped: ${reason}.`]),
      facts.join(" · "),
      ...[...this.#left].map(([index, wait]) => leftText(wait, this.#lineOf(index))),
      ...(first === undefined ? [] : [`  redrive dlq list --queue ${first.id}   list the letters`]),
    ].join("\n");
  }

  #document(results: readonly RunResult[]): JsonObject {
    const queues = this.#works.map(({ id }, index) => {
      const { end = "interrupted", reason } = results[index] ?? {};
      const left = this.#left.get(index);
      return {
        queue: id,
        end,
        ...(reason !== undefined && { reason }),
        ...this.#tallies[index],
        ...(left && { left: left.items, next_due_at: toRfc3339(left.nextDueAt) }),
      };
    });
    return { queues, duration_ms: systemClock.now() - this.#startedAt };
  }

  readonly #suspend = (write: () => void, endsLine: boolean): void => {
    if (this.#progress && this.#context.terminal.stdout.isTTY) this.#progress.suspend(write, endsLine);
    else write();
  };
}

function totalOf(tallies: readonly Tally[]): Tally {
  const total = { ...NOTHING };
  for (const tally of tallies) {
    for (const key of Object.keys(total) as (keyof Tally)[]) total[key] += tally[key];
  }
  return total;
}

/** What this worker did and does, and what is left for everybody: others may work the same queues. */
function ownCounts(all: ProgressCounts, { done, dead, skipped }: Tally, running: number): ProgressCounts {
  const { ready, held } = all;
  const leased = Math.max(0, running);
  return { ready, held, leased, done, dead, skipped, total: ready + held + leased + done + dead + skipped };
}

async function countAll(engine: Engine, works: readonly Job[]): Promise<ProgressCounts> {
  const sum = { total: 0, ready: 0, leased: 0, held: 0, done: 0, dead: 0, skipped: 0 };
  for (const { id } of works) {
    const counts = await engine.count(id);
    for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += counts[key];
  }
  return sum;
}

/** A shorter wait is over before it is read. */
const TOLD_FROM_MS = 5000;

export class DueBound {
  readonly #withinMs: number;
  readonly #onWait: (wait: Waiting) => void;
  readonly #over = new AbortController();
  #seen: Waiting | null = null;
  #toldOf = 0;
  #left: Waiting | null = null;

  constructor(withinMs: number, onWait: (wait: Waiting) => void) {
    this.#withinMs = withinMs;
    this.#onWait = onWait;
  }

  /** Aborted when nothing that is left is waited for. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** What was left in line; null while nothing was. */
  get left(): Waiting | null {
    return this.#left;
  }

  /** The first look may be one at a line to which another worker is giving something back: the second decides. */
  readonly waiting = (wait: Waiting): void => {
    const waitMs = wait.nextDueAt - wait.now;
    const isSame = this.#seen?.items === wait.items && this.#seen.nextDueAt === wait.nextDueAt;
    this.#seen = wait;
    if (waitMs > this.#withinMs) {
      if (!isSame) return;
      this.#left ??= wait;
      this.#over.abort();
    } else if (waitMs >= TOLD_FROM_MS && wait.nextDueAt !== this.#toldOf) {
      this.#toldOf = wait.nextDueAt;
      this.#onWait(wait);
    }
  };
}

/** What is in line, in the words of the queue: `3 items`, `1 receipt`. */
interface Line {
  readonly name: string;
  readonly word: "item" | "receipt";
}

export function waitingText(wait: Waiting, { name, word }: Line): string {
  return `${name}: waiting for ${countText(wait, word)}; the next is due ${dueText(wait)}.`;
}

export function leftText(wait: Waiting, { name, word }: Line): string {
  const verb = wait.items === 1 ? "is" : "are";
  return `${name}: ${countText(wait, word)} ${verb} left in line; the next is due ${dueText(wait)}.`;
}

function countText({ items }: Waiting, word: string): string {
  return `${thousands(items)} ${word}${items === 1 ? "" : "s"}`;
}

function dueText({ nextDueAt, now }: Waiting): string {
  return `in ${formatDuration(nextDueAt - now)}, at ${toRfc3339(nextDueAt)}`;
}
