/** The form of `retry` and `retry_config` in YAML, and the backoff that it stands for. */
import * as z from "zod";
import { count, duration } from "../form/scalars.ts";
import { parseDuration } from "../kit/duration.ts";
import type { Backoff } from "../retry/policy.ts";

const BACKOFF_KINDS = ["exponential", "linear", "fixed", "fibonacci", "list"] as const;
type BackoffKind = (typeof BACKOFF_KINDS)[number];

const curve = {
  initial_delay: duration.optional().describe("The wait before the second try. Default 1s."),
  max_delay: duration.optional().describe("No wait is longer. Default 30s."),
  factor: z
    .number()
    .min(1, "expected a number of at least 1")
    .optional()
    .describe("Of exponential. Default 2."),
  multiplier: z.number().min(1, "expected a number of at least 1").optional().describe("The same as factor."),
  jitter: z.boolean().optional().describe("Waits a random part of the delay."),
  delays: z
    .array(duration)
    .min(1, "the list of delays is empty")
    .optional()
    .describe("One wait for each retry."),
};

export const retryForm = z
  .strictObject({
    max_attempts: count(1).optional().describe("Every try counts, the first one too. Default 3."),
    attempts: count(1).optional().describe("The same as max_attempts."),
    backoff: z
      .union([z.enum(BACKOFF_KINDS), z.strictObject({ type: z.enum(BACKOFF_KINDS).optional(), ...curve })])
      .optional(),
    ...curve,
  })
  .meta({ id: "retry", title: "How often, and how soon" });
export type RetryForm = z.infer<typeof retryForm>;

const DEFAULT_ATTEMPTS = 3;

/** Tries, and the waits between them. */
export function buildRetry(form: RetryForm): { readonly maxAttempts: number; readonly backoff: Backoff } {
  return { maxAttempts: form.max_attempts ?? form.attempts ?? DEFAULT_ATTEMPTS, backoff: buildBackoff(form) };
}

function settingsOf(form: RetryForm) {
  const inner = typeof form.backoff === "object" ? form.backoff : {};
  const settings = { ...form, ...inner };
  const named = typeof form.backoff === "string" ? form.backoff : inner.type;
  const kind: BackoffKind = named ?? (settings.delays === undefined ? "exponential" : "list");
  return { ...settings, kind };
}

const DEFAULT_FIRST_MS = 1000;
const DEFAULT_MAX_MS = 30_000;

function buildBackoff(form: RetryForm): Backoff {
  const { kind, jitter, ...settings } = settingsOf(form);
  const initialMs = milliseconds(settings.initial_delay) ?? DEFAULT_FIRST_MS;
  // A first wait above the default cap raises the cap: 5m does not mean 30 s.
  const maxMs = milliseconds(settings.max_delay) ?? Math.max(DEFAULT_MAX_MS, initialMs);
  switch (kind) {
    case "exponential":
      return {
        kind,
        initialMs,
        factor: settings.factor ?? settings.multiplier ?? 2,
        maxMs,
        jitter: jitter ?? true,
      };
    case "linear":
      return { kind, initialMs, stepMs: initialMs, maxMs, jitter: jitter ?? true };
    case "fibonacci":
      return { kind, initialMs, maxMs, jitter: jitter ?? true };
    case "fixed":
      return { kind, delayMs: initialMs, jitter: jitter ?? false };
    case "list":
      return {
        kind,
        delaysMs: (settings.delays ?? []).map((delay) => milliseconds(delay) ?? 0),
        jitter: jitter ?? false,
      };
  }
}

/** What each kind reads; anything else would be accepted and ignored. */
const READS: Readonly<Record<BackoffKind, readonly string[]>> = {
  exponential: ["initial_delay", "max_delay", "factor", "multiplier"],
  linear: ["initial_delay", "max_delay"],
  fibonacci: ["initial_delay", "max_delay"],
  fixed: ["initial_delay"],
  list: ["delays"],
};

/** Settings that contradict each other. Each is told at the key that is one too many. */
export function retryProblems(
  form: RetryForm,
): { readonly path: readonly string[]; readonly message: string }[] {
  const { kind } = settingsOf(form);
  const inner = typeof form.backoff === "object" ? form.backoff : {};
  const problems = [
    ...unread(form, kind, []),
    ...unread(inner, kind, ["backoff"]),
    ...twice(form, "max_attempts", "attempts", []),
    ...twice(form, "factor", "multiplier", []),
    ...twice(inner, "factor", "multiplier", ["backoff"]),
  ];
  if (kind === "list" && settingsOf(form).delays === undefined) {
    problems.push({ path: ["backoff"], message: "the backoff list needs delays" });
  }
  const { initial_delay, max_delay } = settingsOf(form);
  const [initialMs, maxMs] = [milliseconds(initial_delay), milliseconds(max_delay)];
  if (initialMs !== undefined && maxMs !== undefined && maxMs < initialMs) {
    const path = inner.max_delay === undefined ? ["max_delay"] : ["backoff", "max_delay"];
    problems.push({ path, message: "max_delay is shorter than initial_delay" });
  }
  return problems;
}

function unread(settings: object, kind: BackoffKind, path: readonly string[]) {
  return Object.keys(settings)
    .filter((key) => key in curve && key !== "jitter" && !READS[kind].includes(key))
    .map((key) => ({ path: [...path, key], message: `${key} has no meaning for ${kind} backoff` }));
}

/** The same setting under both of its names. */
export function twice(settings: object, key: string, alias: string, path: readonly string[]) {
  if (!(key in settings && alias in settings)) return [];
  return [{ path: [...path, alias], message: `${alias} is the same as ${key}: write one of them` }];
}

/** Milliseconds of a duration that has passed the schema. */
export function milliseconds(value: string | number | undefined): number | undefined {
  return value === undefined ? undefined : parseDuration(String(value), "duration");
}
