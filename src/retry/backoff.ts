/** Computes the wait before a retry, and parses backoffs from the command line. Pure functions. */
import { RedriveError } from "../errors.ts";
import { parseDuration } from "../std/duration.ts";
import type { Random } from "../std/random.ts";
import { type Backoff, DEFAULT_BACKOFF } from "./policy.ts";

/** The longest wait: a year and a day. */
export const DELAY_MS_MAX = 366 * 86_400_000;

/** Returns the wait before a retry; number 1 is the first retry. Full jitter is uniform in [0, wait]. */
export function backoffMs(backoff: Backoff, retryNumber: number, random: Random): number {
  const fullMs = clampDelayMs(curveMs(backoff, Math.max(1, retryNumber)), capMs(backoff));
  return Math.floor(backoff.jitter ? random() * fullMs : fullMs);
}

/** Limits a delay to what timers and dates support: never negative, NaN or above the maximum. */
export function clampDelayMs(delayMs: number, maxMs = DELAY_MS_MAX): number {
  const cap = maxMs >= 0 ? Math.min(maxMs, DELAY_MS_MAX) : 0;
  return delayMs > 0 ? Math.min(delayMs, cap) : 0; // NaN gives 0
}

function curveMs(backoff: Backoff, retryNumber: number): number {
  switch (backoff.kind) {
    case "exponential":
      return backoff.initialMs * backoff.factor ** (retryNumber - 1);
    case "linear":
      return backoff.initialMs + backoff.stepMs * (retryNumber - 1);
    case "fixed":
      return backoff.delayMs;
    case "fibonacci":
      return backoff.initialMs * fibonacci(retryNumber);
    case "list":
      return backoff.delaysMs[retryNumber - 1] ?? backoff.delaysMs.at(-1) ?? 0;
  }
}

function capMs(backoff: Backoff): number {
  return "maxMs" in backoff ? backoff.maxMs : DELAY_MS_MAX;
}

/** Returns 1, 1, 2, 3, 5 … Stops at the longest wait, so that large positions are cheap. */
function fibonacci(position: number): number {
  let [current, next] = [1, 1];
  for (let index = 1; index < position && current < DELAY_MS_MAX; index++) {
    [current, next] = [next, current + next];
  }
  return current;
}

const FORMS = [
  "exponential[:FIRST[:MAX[:FACTOR]]]",
  "linear[:FIRST[:MAX]]",
  "fibonacci[:FIRST[:MAX]]",
  "fixed:DELAY",
  "list:DELAY,DELAY,…",
  "none",
];

/** Parses `exponential:1s:30s:3` or `list:1s,5s,30s`. Growing curves have full jitter unless `:nojitter` follows. */
export function parseBackoff(text: string): Backoff {
  const words = text.trim().split(":");
  const jitter = words.at(-1) !== "nojitter";
  const [kind = "", ...args] = jitter ? words : words.slice(0, -1);
  switch (kind) {
    case "exponential":
      return { kind, ...firstAndMax(text, args, 3), factor: factorOf(text, args[2]), jitter };
    case "linear": {
      const { initialMs, maxMs } = firstAndMax(text, args, 2);
      return { kind, initialMs, stepMs: initialMs, maxMs, jitter };
    }
    case "fibonacci":
      return { kind, ...firstAndMax(text, args, 2), jitter };
    case "fixed":
      return { kind, delayMs: delayOf(text, only(text, args)), jitter: false };
    case "list":
      return {
        kind,
        delaysMs: only(text, args)
          .split(",")
          .map((word) => delayOf(text, word)),
        jitter: false,
      };
    case "none":
      if (args.length > 0) throw invalid(text, "`none` takes no further parts");
      return { kind: "fixed", delayMs: 0, jitter: false };
    default:
      throw invalid(text, `unknown backoff "${kind}"`);
  }
}

const DEFAULT_FIRST_MS = 1000;
const DEFAULT_MAX_MS = 30_000;

function firstAndMax(
  text: string,
  args: readonly string[],
  argsMax: number,
): { initialMs: number; maxMs: number } {
  if (args.length > argsMax) throw invalid(text, "too many parts");
  const initialMs = args[0] === undefined ? DEFAULT_FIRST_MS : delayOf(text, args[0]);
  // A first wait above the default maximum raises the maximum, so that `exponential:5m` does not wait only 30 s.
  const maxMs = args[1] === undefined ? Math.max(DEFAULT_MAX_MS, initialMs) : delayOf(text, args[1]);
  if (maxMs < initialMs) throw invalid(text, "the maximum is shorter than the first wait");
  return { initialMs, maxMs };
}

function factorOf(text: string, word: string | undefined): number {
  if (word === undefined) return DEFAULT_BACKOFF.kind === "exponential" ? DEFAULT_BACKOFF.factor : 2;
  const factor = /^\d{1,6}(\.\d{1,6})?$/.test(word) ? Number(word) : Number.NaN;
  if (!(factor >= 1)) throw invalid(text, `the factor "${word}" is not a number of at least 1`);
  return factor;
}

function only(text: string, args: readonly string[]): string {
  const [argument] = args;
  if (argument === undefined || args.length !== 1)
    throw invalid(text, "exactly one part must follow the name");
  return argument;
}

function delayOf(text: string, word: string): number {
  const delayMs = parseDuration(word, `backoff "${text}"`);
  if (delayMs > DELAY_MS_MAX) throw invalid(text, `"${word}" is longer than a year`);
  return delayMs;
}

function invalid(text: string, why: string): RedriveError {
  return new RedriveError("usage", `Invalid backoff "${text}": ${why}.`, {
    hint: `Write one of: ${FORMS.join(", ")}; durations like 250ms, 5s, 1m; add :nojitter for exact waits.`,
  });
}
