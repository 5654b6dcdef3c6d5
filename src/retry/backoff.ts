/** Computes the wait before a retry, and parses backoffs from the command line. Pure functions. */
import { RedriveError } from "../errors.ts";
import { parseDuration } from "../std/duration.ts";
import type { Random } from "../std/random.ts";
import type { Backoff } from "./policy.ts";

/** The longest wait: a year and a day. */
export const DELAY_MS_MAX = 366 * 86_400_000;

/** Returns the wait before a retry; number 1 is the first retry. Full jitter is uniform in [0, wait]. */
export function backoffMs(backoff: Backoff, retryNumber: number, random: Random): number {
  const maxMs = "maxMs" in backoff ? backoff.maxMs : DELAY_MS_MAX;
  const fullMs = clampDelayMs(curveMs(backoff, Math.max(1, retryNumber)), maxMs);
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

export const BACKOFF_KINDS = ["exponential", "linear", "fixed", "fibonacci", "list"] as const;

interface BackoffSettings {
  /** Default 1 s. */
  readonly firstMs?: number | undefined;
  /** Default 30 s, or the first wait if that is longer. */
  readonly maxMs?: number | undefined;
  /** For linear backoff. Default: the first wait. */
  readonly stepMs?: number | undefined;
  /** Default 2. */
  readonly factor?: number | undefined;
  readonly delaysMs?: readonly number[] | undefined;
  /** Default true for growing waits. */
  readonly jitter?: boolean | undefined;
}

/** Fills in the defaults. Settings that the kind does not use are ignored. */
export function backoffOf(kind: Backoff["kind"], settings: BackoffSettings): Backoff {
  const { firstMs: initialMs = 1000, factor = 2, delaysMs = [], stepMs = initialMs } = settings;
  // A first wait above the default maximum raises the maximum, so that 5m does not become 30 s.
  const { maxMs = Math.max(30_000, initialMs), jitter = kind !== "fixed" && kind !== "list" } = settings;
  switch (kind) {
    case "exponential":
      return { kind, initialMs, factor, maxMs, jitter };
    case "linear":
      return { kind, initialMs, stepMs, maxMs, jitter };
    case "fibonacci":
      return { kind, initialMs, maxMs, jitter };
    case "fixed":
      return { kind, delayMs: initialMs, jitter };
    case "list":
      return { kind, delaysMs, jitter };
  }
}

const PARTS_MAX = { exponential: 3, linear: 2, fibonacci: 2 };

/** Parses `exponential:1s:30s:3` or `list:1s,5s,30s`. Growing waits have full jitter unless `:nojitter` follows. */
export function parseBackoff(text: string): Backoff {
  const words = text.trim().split(":");
  const isExact = words.at(-1) === "nojitter";
  const [name = "", ...args] = isExact ? words.slice(0, -1) : words;
  if (name === "none") {
    if (args.length > 0) throw invalid(text, "`none` takes no further parts");
    return { kind: "fixed", delayMs: 0, jitter: false };
  }
  const kind = BACKOFF_KINDS.find((known) => known === name);
  if (kind === undefined) throw invalid(text, `unknown backoff "${name}"`);
  const [first, max, factor] = args;
  if (kind === "fixed" || kind === "list") {
    if (first === undefined || args.length > 1)
      throw invalid(text, "the name must be followed by exactly one part");
    const delaysMs = (kind === "list" ? first.split(",") : [first]).map((word) => delayOf(text, word));
    return backoffOf(kind, { firstMs: delaysMs[0], delaysMs });
  }
  if (args.length > PARTS_MAX[kind]) throw invalid(text, "too many parts");
  const firstMs = first === undefined ? undefined : delayOf(text, first);
  const maxMs = max === undefined ? undefined : delayOf(text, max);
  const jitter = isExact ? false : undefined;
  const backoff = backoffOf(kind, { firstMs, maxMs, factor: factorOf(text, factor), jitter });
  if (maxMs === undefined || maxMs >= (firstMs ?? 0)) return backoff;
  throw invalid(text, "the maximum is shorter than the first wait");
}

function factorOf(text: string, word: string | undefined): number | undefined {
  if (word === undefined) return undefined;
  const factor = /^\d{1,6}(\.\d{1,6})?$/.test(word) ? Number(word) : Number.NaN;
  if (!(factor >= 1)) throw invalid(text, `the factor "${word}" is not a number of at least 1`);
  return factor;
}

function delayOf(text: string, word: string): number {
  const delayMs = parseDuration(word, `backoff "${text}"`);
  if (delayMs > DELAY_MS_MAX) throw invalid(text, `"${word}" is longer than a year`);
  return delayMs;
}

function invalid(text: string, why: string): RedriveError {
  return new RedriveError("usage", `Invalid backoff "${text}": ${why}.`, {
    hint: `Write one of: ${FORMS.join(", ")}; durations such as 250ms, 5s, 1m; append :nojitter for exact waits.`,
  });
}
