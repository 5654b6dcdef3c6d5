/** Option types. Each parses its value strictly and names the option in errors. */
import { resolve } from "node:path";
import { parseBudget } from "../agent/budget.ts";
import { type ErrorCode, RedriveError } from "../errors.ts";
import { ITEM_STATES, type ItemState, parseItemState } from "../item/state.ts";
import { parseRate, type Rate } from "../redrive/plan.ts";
import { parseBackoff } from "../retry/backoff.ts";
import { type OnItemFailure, OUTAGE_ACTIONS } from "../retry/policy.ts";
import { DEFAULT_GRACE_MS } from "../run/map-spec.ts";
import { parseDuration } from "../std/duration.ts";
import { nearest } from "../std/nearest.ts";
import type { OptionSpec, RawValue } from "./command.ts";
import { userError } from "./exit-code.ts";

type Read<Value> = (text: string, name: string) => Value;
type More = Pick<OptionSpec, "aliases" | "conflicts" | "isRequired">;

/** An option without a value. `--no-x` is true if it was given. */
export function flag(flags: string, help: string, more: More = {}): OptionSpec<boolean> {
  const isNegated = flags.startsWith("--no-");
  return { flags, help, ...more, read: (raw) => raw === !isNegated };
}

export function value<Value>(
  flags: string,
  help: string,
  read: Read<Value>,
  more: More = {},
): OptionSpec<Value | undefined> {
  return {
    flags,
    help,
    ...more,
    read: (raw, name) => (typeof raw === "string" ? read(raw, name) : undefined),
  };
}

export function required<Value>(spec: OptionSpec<Value | undefined>): OptionSpec<Value> {
  return { ...spec, isRequired: true, read: (raw, name) => spec.read(raw, name) as Value };
}

/** Sets a default and adds it to the help, where it may be written differently. */
export function withDefault<Value>(
  spec: OptionSpec<Value | undefined>,
  fallback: Value,
  shown = String(fallback),
): OptionSpec<Value> {
  const help = `${spec.help} (default: ${shown})`;
  return { ...spec, help, read: (raw, name) => spec.read(raw, name) ?? fallback };
}

export function under<const Set extends Readonly<Record<string, OptionSpec>>>(
  heading: string,
  options: Set,
): Set {
  return Object.fromEntries(Object.entries(options).map(([key, spec]) => [key, { ...spec, heading }])) as Set;
}

export function word(flags: string, help: string, more?: More): OptionSpec<string | undefined> {
  return value(flags, help, (text) => text, more);
}

export function text(flags: string, help: string, more?: More): OptionSpec<string | undefined> {
  return value(flags, help, (given, name) => requireText(name, given), more);
}

const UNSET_VARIABLE = "The shell variable may be unset.";

export function requireText(name: string, given: string): string {
  if (given.trim() !== "") return given.trim();
  throw userError("usage", `${name}: the text is empty.`, UNSET_VARIABLE);
}

/** An option with a path. Refuses an empty path, which would mean the current folder. */
export function path(flags: string, help: string, more?: More): OptionSpec<string | undefined> {
  return value(flags, help, (given, name) => requirePath(name, given), more);
}

export function requirePath(name: string, given: string): string {
  if (given !== "") return given;
  throw userError("usage", `${name} is empty.`, UNSET_VARIABLE);
}

export function absolute(cwd: string, given: string, name = "The path"): string {
  return resolve(cwd, requirePath(name, given));
}

export function count(flags: string, help: string, min: number, more?: More): OptionSpec<number | undefined> {
  return value(flags, help, (given, name) => readCount(name, given, min), more);
}

export function readCount(name: string, given: string, min: number): number {
  const number = /^\d+$/.test(given) ? Number(given) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= min) return number;
  throw userError(
    "usage",
    `${name}: "${given}" is not a whole number of at least ${min}.`,
    `Example: ${name} 10`,
  );
}

export function share(flags: string, help: string): OptionSpec<number | undefined> {
  return value(flags, help, (given, name) => {
    const number = /^\d*\.?\d+$/.test(given) ? Number(given) : Number.NaN;
    if (number >= 0 && number <= 1) return number;
    throw userError("usage", `${name}: "${given}" is not a number from 0 to 1.`, `Example: ${name} 0.2`);
  });
}

export function duration(flags: string, help: string, more?: More): OptionSpec<number | undefined> {
  return value(flags, help, parseDuration, more);
}

export function rate(help: string): OptionSpec<Rate | undefined> {
  return value("--rate <n/s>", help, parseRate);
}

export function perSecond({ letters, perMs }: Rate): { readonly perSecond: number } {
  return { perSecond: (letters * 1000) / perMs };
}

/** Also accepts `none` as null, which removes a setting. */
export function orNone<Value>(spec: OptionSpec<Value | undefined>): OptionSpec<Value | null | undefined> {
  return { ...spec, read: (raw, name) => (raw === "none" ? null : readOrMentionNone(spec, raw, name)) };
}

function readOrMentionNone<Value>(spec: OptionSpec<Value>, raw: RawValue, name: string): Value {
  try {
    return spec.read(raw, name);
  } catch (error) {
    if (!(error instanceof RedriveError)) throw error;
    throw userError(error.code, error.message, `To remove the setting: ${name} none`);
  }
}

export function choice<const Choice extends string>(
  flags: string,
  help: string,
  choices: readonly Choice[],
  more: More = {},
): OptionSpec<Choice | undefined> {
  return { ...value(flags, help, (given) => given as Choice, more), choices };
}

export function repeated(flags: string, help: string): OptionSpec<readonly string[] | undefined> {
  return { flags, help, isRepeated: true, read: (raw) => (Array.isArray(raw) ? raw : undefined) };
}

/** An option with comma-separated values, which may be repeated. Each occurrence consumes only one word. */
export function list(flags: string, help: string): OptionSpec<readonly string[] | undefined> {
  return { ...repeated(flags, help), read: (raw) => (Array.isArray(raw) ? splitWords(raw) : undefined) };
}

export function splitWords(texts: readonly string[]): readonly string[] {
  return texts.flatMap((one) => one.split(",")).map((one) => one.trim());
}

/** A list of known words, ignoring case. */
export function listOf<const Known extends string>(
  flags: string,
  help: string,
  known: readonly Known[],
  code?: ErrorCode,
): OptionSpec<readonly Known[] | undefined> {
  return mapped(list(flags, help), (given, name) => readKnown(given, name, known, code));
}

export function readKnown<const Known extends string>(
  given: string,
  name: string,
  known: readonly Known[],
  code: ErrorCode = "filter_invalid",
): Known {
  const found = known.find((one) => one.toLowerCase() === given.toLowerCase());
  if (found !== undefined) return found;
  throw unknownValue(name, given, known, { code });
}

/** The error for an unknown value, with the most similar known one. */
export function unknownValue(
  name: string,
  given: string,
  known: readonly string[],
  { code = "usage", noun = "value" }: { code?: ErrorCode; noun?: string } = {},
): RedriveError {
  const meant = nearest(given, known);
  const message = `${name}: unknown ${noun} "${given}"${meant ? `; did you mean ${meant}?` : "."}`;
  return userError(code, message, `Valid ${noun}s: ${known.join(", ")}.`);
}

/** A list of item states, including their names in Power Automate. */
export function itemStates(help: string): OptionSpec<readonly ItemState[] | undefined> {
  return mapped(list("--state <states>", help), (given) => {
    const state = parseItemState(given);
    if (state !== undefined) return state;
    const hint = `Valid states: ${ITEM_STATES.join(", ")}; also Queued, Processing, OnHold, Processed, Failed.`;
    throw userError("filter_invalid", `--state: unknown state "${given}".`, hint);
  });
}

export function mapped<Value>(
  words: OptionSpec<readonly string[] | undefined>,
  read: Read<Value>,
): OptionSpec<readonly Value[] | undefined> {
  return { ...words, read: (raw, name) => words.read(raw, name)?.map((one) => read(one, name)) };
}

// Options that several commands share.

export const dryRun = flag("--dry-run", "print what would be done, and do nothing");
export const yes = flag("-y, --yes", "do not ask for confirmation");
export const quiet = flag("-q, --quiet", "suppress progress and command output");
export const limit = withDefault(count("-l, --limit <n>", "print at most this many entries", 1), 20);
export const cursor = word(
  "--cursor <cursor>",
  "continue after this cursor: the `next` value of the previous page",
);
export const reason = text("--reason <text>", "why");
export const note = text("--note <text>", "a note that is stored with the change");
export const acceptChanges = (help: string) => flag("--accept-changes", help);
const storeWait = (shown: string) =>
  duration("--store-wait <duration>", `how long to wait for an unavailable store (default: ${shown})`);
export const storeWaitMs = storeWait("30s");
export const storeWaitForeverMs = storeWait("forever");
export const budget = value(
  "--budget <amount>",
  "how much the agents of the job may use: dollars, or usd=25,tokens=2000000,turns=300 (default: the workflow's setting)",
  (text) => parseBudget(text),
);
export const keepEvidence = flag(
  "--keep-evidence",
  "copy the evidence files that attempts report (default: record only digest, size and type)",
);
export const allowOptions = flag(
  "--allow-options",
  "accept items that begin with - even where the command could read them as options (default: such an item fails)",
);
export const retries = (help: string) =>
  count("-r, --retries <n>", help, 0, { aliases: [{ flags: "--max-retries <n>" }] });
export const canaryOptions = {
  canary: flag(
    "--canary",
    "retry one letter of each group first, then 1 %, 10 %, all; stop when the same failure returns",
  ),
  canarySize: count("--canary-size <n>", "a canary of this many letters, then all the rest", 1),
};
export const timeoutMs = duration(
  "-t, --timeout <duration>",
  "stop an attempt, with all its processes, after this time (default: none)",
);

export function concurrency(help: string): OptionSpec<number | undefined> {
  const old = ["--jobs <n>", "--parallel <n>", "--max-parallel <n>"];
  return count("-j, --concurrency <n>", help, 1, { aliases: old.map((flags) => ({ flags })) });
}

/** When a worker ends. */
export const endingOptions = {
  untilEmpty: flag("--until-empty", "exit when no item is due now or soon", {
    aliases: [{ flags: "--drain" }],
  }),
  dueWithinMs: duration(
    "--due-within <duration>",
    "with --until-empty: do not wait for items that are due later than this (default: 5m)",
  ),
  drainMs: withDefault(
    duration("--drain-timeout <duration>", "after a signal, how long running attempts may continue"),
    30_000,
    "30s",
  ),
};

const backoffWith = (fallback: string) =>
  value(
    "--backoff <spec>",
    `the wait between retries: exponential:1s:30s, linear:1s:30s, fibonacci:1s:30s, fixed:5s, list:1s,5s or none; append :nojitter for exact waits (default: ${fallback})`,
    (given) => parseBackoff(given),
  );
export const backoff = backoffWith("exponential:1s:30s");
export const itemBackoff = backoffWith("the queue's setting");
export const breaker = count(
  "--breaker <n>",
  "pause after this many failures in a row, then try a few items (default: none)",
  1,
);
export const breakerTimeoutMs = duration(
  "--breaker-timeout <duration>",
  "how long the pause lasts (default: 30s)",
);
export const onOutage = choice(
  "--on-outage <action>",
  "when a required service is down or throttles: retry counts attempts as for any failure, wait pauses the queue and counts none (default: retry)",
  OUTAGE_ACTIONS,
);
export const outageMsMax = duration(
  "--max-outage <duration>",
  "with --on-outage wait: how long to wait until attempts count again (default: 24h)",
);
export const onFailureCommand = word(
  "--on-failure-command <command>",
  "after the last retry, run this shell command: exit code 0 means handled, 75 retry, any other code a dead letter; the failure is passed on stdin and in REDRIVE_ERROR_TYPE, REDRIVE_ERROR_MESSAGE, REDRIVE_ERROR_STEP and REDRIVE_ERROR_EXIT_CODE",
);

/** Defines `--job` with the alias `--queue`. */
export function ofJob(help: string): OptionSpec<string | undefined> {
  const aliases = [{ flags: "--queue <queue>", help: "like --job, for a named queue" }];
  return word("--job <job>", help, { aliases });
}

export const FAILURE_CHOICES = ["dlq", "retry", "skip", "stop"] as const satisfies readonly OnItemFailure[];

const DUE_WITHIN_MS = 5 * 60_000;

/** Reads `--due-within`, which requires `--until-empty`. */
export function readDueWithin(flags: {
  readonly untilEmpty: boolean;
  readonly dueWithinMs?: number;
}): number {
  if (flags.dueWithinMs === undefined || flags.untilEmpty) return flags.dueWithinMs ?? DUE_WITHIN_MS;
  const hint = "Add --until-empty. Without it a worker waits for all items, no matter when they are due.";
  throw userError("usage", "--due-within needs --until-empty.", hint);
}

export const graceMs = withDefault(
  duration("--grace <duration>", "the time between the signals TERM and KILL"),
  DEFAULT_GRACE_MS,
  "5s",
);

export const COMMAND_HELP =
  "the command and its arguments; {} is the item, ${item.field} a field, ${item_id} the id; {.} {/} {//} {/.} {#} work as in GNU parallel; no shell is used; the item is passed on stdin";
