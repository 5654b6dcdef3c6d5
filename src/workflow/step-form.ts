/** The YAML schema of steps and of `retry`. Part of the format that `yaml-form.ts` defines. */
import * as z from "zod";
import { BACKOFF_KINDS, backoffOf } from "../retry/backoff.ts";
import type { Backoff } from "../retry/policy.ts";
import { parseDuration } from "../std/duration.ts";
import { count, duration, exitCode, ratio, required, scalar } from "../yaml/form.ts";
import { CAPTURE_FORMATS, PROMPT_WAYS } from "./model.ts";

const curve = {
  initial_delay: duration.optional().describe("The wait before the first retry. Default 1s."),
  max_delay: duration.optional().describe("The longest wait. Default 30s."),
  factor: z
    .number()
    .min(1, "expected a number of at least 1")
    .optional()
    .describe("The factor for exponential backoff. Default 2."),
  multiplier: z.number().min(1, "expected a number of at least 1").optional().describe("Alias of factor."),
  increment: duration
    .optional()
    .describe("For linear backoff: how much longer each wait is. Default: the first wait."),
  jitter: z.boolean().optional().describe("Whether to wait a random fraction of the delay."),
  delays: z
    .array(duration)
    .min(1, "the list of delays is empty")
    .optional()
    .describe("A list with one wait for each retry."),
};

export const retryForm = z
  .strictObject({
    max_attempts: count(1).optional().describe("The number of attempts, including the first. Default 3."),
    attempts: count(1).optional().describe("Alias of max_attempts."),
    backoff: z
      .union([z.enum(BACKOFF_KINDS), z.strictObject({ type: z.enum(BACKOFF_KINDS).optional(), ...curve })])
      .optional(),
    ...curve,
    retry_on: z
      .array(required("a pattern"))
      .optional()
      .describe(
        "For a step: regular expressions; only a failure that matches one is retried. Default: every failure.",
      ),
    retry_budget: duration.optional().describe("For a step: no retry begins after this time."),
  })
  .meta({ id: "retry", title: "How often and how soon to retry" });
export type RetryForm = z.infer<typeof retryForm>;

const DEFAULT_ATTEMPTS = 3;

export function buildRetry(form: RetryForm): { readonly maxAttempts: number; readonly backoff: Backoff } {
  const { kind, initial_delay, max_delay, increment, factor, multiplier, delays, jitter } = settingsOf(form);
  const backoff = backoffOf(kind, {
    firstMs: milliseconds(initial_delay),
    maxMs: milliseconds(max_delay),
    stepMs: milliseconds(increment),
    factor: factor ?? multiplier,
    delaysMs: delays?.map((delay) => milliseconds(delay) ?? 0),
    jitter,
  });
  return { maxAttempts: form.max_attempts ?? form.attempts ?? DEFAULT_ATTEMPTS, backoff };
}

function settingsOf(form: RetryForm) {
  const inner = typeof form.backoff === "object" ? form.backoff : {};
  const settings = { ...form, ...inner };
  const named = typeof form.backoff === "string" ? form.backoff : inner.type;
  const kind: Backoff["kind"] = named ?? (settings.delays === undefined ? "exponential" : "list");
  return { ...settings, kind };
}

/**
 * The settings that each kind of backoff uses. Other settings are rejected, because they would have no
 * effect.
 */
const READS: Readonly<Record<Backoff["kind"], readonly string[]>> = {
  exponential: ["initial_delay", "max_delay", "factor", "multiplier"],
  linear: ["initial_delay", "max_delay", "increment"],
  fibonacci: ["initial_delay", "max_delay"],
  fixed: ["initial_delay"],
  list: ["delays"],
};

/** Returns contradictory settings. Each is reported at the redundant key. */
export function retryProblems(form: RetryForm) {
  const { kind, delays, initial_delay, max_delay } = settingsOf(form);
  const inner = typeof form.backoff === "object" ? form.backoff : {};
  const problems = [
    ...unread(form, kind, []),
    ...unread(inner, kind, ["backoff"]),
    ...twice(form, "max_attempts", "attempts", []),
    ...twice(form, "factor", "multiplier", []),
    ...twice(inner, "factor", "multiplier", ["backoff"]),
  ];
  if (kind === "list" && delays === undefined) {
    problems.push({ path: ["backoff"], message: "backoff: list needs delays" });
  }
  const [initialMs, maxMs] = [milliseconds(initial_delay), milliseconds(max_delay)];
  if (initialMs !== undefined && maxMs !== undefined && maxMs < initialMs) {
    const path = inner.max_delay === undefined ? ["max_delay"] : ["backoff", "max_delay"];
    problems.push({ path, message: "max_delay is shorter than initial_delay" });
  }
  return problems;
}

function unread(settings: object, kind: Backoff["kind"], path: readonly string[]) {
  return Object.keys(settings)
    .filter((key) => key in curve && key !== "jitter" && !READS[kind].includes(key))
    .map((key) => ({ path: [...path, key], message: `${key} has no effect for ${kind} backoff` }));
}

export function twice(settings: object, key: string, alias: string, path: readonly string[]) {
  if (!(key in settings && alias in settings)) return [];
  return [{ path: [...path, alias], message: `${alias} is an alias of ${key}: use only one of them` }];
}

/** Converts a duration that the schema has accepted. */
export function milliseconds(value: string | number | undefined): number | undefined {
  return value === undefined ? undefined : parseDuration(String(value), "duration");
}

/** A step has exactly one of these keys. */
export const ACTION_KEYS = ["shell", "claude", "agent", "write_file", "foreach"] as const;

/** Valid names of captures, which `${…}` and expressions can read. */
export const NAME_PATTERN = /^[A-Za-z_]\w*$/;
/** A capture may be a field of a variable, such as `build.version`. */
export const CAPTURE_PATTERN = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;
const captureName = z.string().regex(CAPTURE_PATTERN, "a name may contain only letters, digits and _");

/** YAML reads an unquoted 0644 as the number 644. */
const MODE_EXPECTED = 'expected permissions in quotes, such as "0644"';

const plainStep = z.strictObject({
  shell: required("a script")
    .optional()
    .describe(
      "A script for sh. Values are never inserted into its text: the shell reads them from variables.",
    ),
  claude: required("a prompt")
    .optional()
    .describe("A prompt for the claude command in print mode. It is passed on standard input."),
  agent: z
    .strictObject({
      command: z
        .union([required("a command"), z.array(z.string()).min(1, "the command is empty")])
        .describe("A program and its arguments. No shell is used."),
      resume: z
        .union([required("a command"), z.array(z.string()).min(1, "the command is empty")])
        .optional()
        .describe(
          "For continue_session: the command that continues the session ${agent.session}. Built in for claude, codex, gemini, opencode and qwen.",
        ),
      prompt: z.string(),
      prompt_by: z
        .enum(PROMPT_WAYS)
        .optional()
        .describe("How the prompt is passed: on stdin, or as the last argument, after --. Default stdin."),
    })
    .optional()
    .describe("Any other agent."),
  write_file: z
    .strictObject({
      path: required("a path").describe("Relative to the working directory."),
      content: z.string(),
      mode: z
        .string(MODE_EXPECTED)
        .regex(/^0?[0-7]{3}$/, MODE_EXPECTED)
        .optional()
        .describe("Permissions, in quotes."),
      format: z
        .enum(["text", "json", "yaml"])
        .optional()
        .describe("Checks the content and writes it indented. Default text: unchanged."),
    })
    .optional(),
  id: z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]*$/, "an id may contain only letters, digits, -, _ and .")
    .optional(),
  name: z.string().optional().describe("A name that is shown instead of the command."),
  timeout: duration.optional().describe("After this time the step and all its processes are ended."),
  continue_session: z
    .boolean()
    .optional()
    .describe(
      "Whether a retry continues the session of the agent, with the failure as the next message. Default false.",
    ),
  silence_timeout: duration
    .optional()
    .describe(
      "After this time without output an agent is ended. Default 30m for an agent with a known stream.",
    ),
  env: z.record(z.string(), scalar).optional(),
  working_dir: required("a folder").optional(),
  when: required("an expression")
    .optional()
    .describe("A CEL expression; if it is false, the step is skipped."),
  capture: captureName.optional().describe("The variable that stores the output for later steps."),
  capture_output: captureName.optional().describe("Alias of capture."),
  capture_format: z.enum(CAPTURE_FORMATS).optional(),
  retry: retryForm.optional(),
  commit_required: z.boolean().optional().describe("Whether the step fails if it made no commit."),
  output_file: required("a path").optional(),
});

/** Keys that contain steps are declared by hand, because an inferred type cannot refer to itself. */
export interface StepForm extends z.infer<typeof plainStep> {
  readonly foreach?: ForeachForm | undefined;
  readonly on_failure?: HandlerForm | undefined;
  readonly on_success?: StepsForm | undefined;
  readonly on_exit_code?: Readonly<Record<string, StepsForm>> | undefined;
  readonly validate?: ValidateForm | undefined;
}

export type StepsForm = StepForm | readonly StepForm[];

/** A list of steps, or one step with the keys of the handler. */
export type HandlerForm = readonly StepForm[] | (StepForm & z.infer<typeof handlerKeys>);

export interface ValidateForm extends StepForm {
  readonly steps?: readonly StepForm[] | undefined;
  readonly result_file?: string | undefined;
  readonly threshold?: number | undefined;
  readonly on_incomplete?: HandlerForm | undefined;
}

function stepShape() {
  const steps = z.lazy(() => stepsForm);
  return {
    ...plainStep.shape,
    foreach: z.lazy(() => foreachForm).optional(),
    on_failure: z.lazy(() => handlerForm).optional(),
    on_success: steps.optional(),
    on_exit_code: z.record(exitCode, steps).optional(),
    validate: z.lazy(() => validateForm).optional(),
  };
}

export const STEP_KEYS: ReadonlySet<string> = new Set(Object.keys(stepShape()));

/** Adds the rule that a step has exactly one action to the JSON Schema, for editors. */
const ONE_ACTION = { oneOf: ACTION_KEYS.map((key) => ({ required: [key] })) };

export const stepForm: z.ZodType<StepForm> = z
  .strictObject(stepShape())
  .meta({ id: "step", title: "A step", ...ONE_ACTION });

export const stepsForm: z.ZodType<StepsForm> = z.union([z.array(stepForm), stepForm]).meta({ id: "steps" });

const elements = z
  .union([z.string(), z.array(z.json()), z.strictObject({ command: required("a command") })])
  .optional();

const foreachForm = z.strictObject({
  items: elements.describe(
    "A list, a template that evaluates to one (a JSON array, or lines), or a command that prints one.",
  ),
  list: elements.describe("Alias of items."),
  steps: z.array(stepForm).optional(),
  do: z.array(stepForm).optional().describe("Alias of steps."),
  parallel: count(1).optional().describe("How many elements to process at a time. Default 1."),
  max_items: count(0).optional(),
  continue_on_error: z
    .boolean()
    .optional()
    .describe(
      "Whether to process the other elements after a failure, and let the step succeed. Default false.",
    ),
  own_item: z
    .boolean()
    .optional()
    .describe(
      "Whether ${item}, ${index} and ${total} refer to the element even inside a map. Default false.",
    ),
});
export type ForeachForm = z.infer<typeof foreachForm>;

const handlerKeys = z.strictObject({
  steps: z.array(stepForm).optional(),
  commands: z.array(stepForm).optional().describe("Alias of steps."),
  max_attempts: count(0).optional().describe("How many times the failed step is run again. Default 1."),
  fail_workflow: z
    .boolean()
    .optional()
    .describe("Whether the item fails if the step still fails. Default true."),
  handler_failure_fatal: z
    .boolean()
    .optional()
    .describe(
      "Whether the item fails if a step of the handler fails, even with fail_workflow: false. Default false.",
    ),
});

const handlerForm: z.ZodType<HandlerForm> = z.union([
  z.array(stepForm),
  z.strictObject({ ...stepShape(), ...handlerKeys.shape }),
]);

const validateForm: z.ZodType<ValidateForm> = z.strictObject({
  ...stepShape(),
  steps: z
    .array(stepForm)
    .min(1, "the list of steps is empty")
    .optional()
    .describe("Several steps; the last one returns the score."),
  result_file: required("a file")
    .optional()
    .describe("A JSON file with the score, used instead of the output."),
  threshold: ratio(100).optional().describe("The minimum score, 0 to 100. Default 100."),
  on_incomplete: z.lazy(() => handlerForm).optional(),
});
