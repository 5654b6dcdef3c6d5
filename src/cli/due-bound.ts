/**
 * How long a worker with `--drain` waits for items that are not due yet. What is due soon, as a retry is, is waited for,
 * and the person is told; what is due later than the bound is left in line for another worker.
 */
import { WorkError } from "../errors.ts";
import { toRfc3339 } from "../kit/clock.ts";
import { formatDuration, parseDuration } from "../kit/duration.ts";
import type { Waiting } from "../runner/runner.ts";
import { thousands } from "./progress-rate.ts";

const DUE_WITHIN_MS = 5 * 60_000;
/** A shorter wait is over before it is read. */
const TOLD_FROM_MS = 5000;

/** `--due-within`, which has a meaning only beside `--drain`. */
export function dueWithinOption(flags: { readonly drain?: boolean; readonly dueWithin?: string }): number {
  if (flags.dueWithin === undefined) return DUE_WITHIN_MS;
  if (!flags.drain) {
    throw new WorkError("usage", "--due-within says what --drain waits for, and there is no --drain.", {
      hint: "Without --drain a worker waits for all that is due, however late.",
    });
  }
  return parseDuration(flags.dueWithin, "--due-within");
}

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
