/** Kinds of options: each reads its text strictly, and refuses what it cannot read with the name of the option. */
import { resolve } from "node:path";
import { type ErrorCode, WorkError } from "../errors.ts";
import { parseRate, type Rate } from "../redrive/pace.ts";
import { parseBackoff } from "../retry/backoff.ts";
import { type OnItemFailure, OUTAGE_ACTIONS } from "../retry/policy.ts";
import { DEFAULT_GRACE_MS } from "../run/map-spec.ts";
import { parseDuration } from "../std/duration.ts";
import type { OptionSpec } from "./command.ts";

type Read<Value> = (text: string, name: string) => Value;
type More = Pick<OptionSpec, "aliases" | "conflicts" | "isRequired">;

/** An option without a value; `--no-x` is true when it was given, as any other. */
export function flag(flags: string, help: string, more: More = {}): OptionSpec<boolean> {
  const isNegated = flags.startsWith("--no-");
  return { flags, help, ...more, read: (raw) => raw === !isNegated };
}

/** An option with a value that is read. */
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

/** A value that cannot be left out. */
export function required<Value>(spec: OptionSpec<Value | undefined>): OptionSpec<Value> {
  return { ...spec, isRequired: true, read: (raw, name) => spec.read(raw, name) as Value };
}

/** A value with a default, which the help shows. */
export function withDefault<Value>(spec: OptionSpec<Value | undefined>, fallback: Value): OptionSpec<Value> {
  const help = `${spec.help} (default: ${fallback})`;
  return { ...spec, help, read: (raw, name) => spec.read(raw, name) ?? fallback };
}

/** Puts options below a heading of the help. */
export function under<const Set extends Readonly<Record<string, OptionSpec>>>(
  heading: string,
  options: Set,
): Set {
  return Object.fromEntries(Object.entries(options).map(([key, spec]) => [key, { ...spec, heading }])) as Set;
}

/** The text as it is given. */
export function word(flags: string, help: string, more?: More): OptionSpec<string | undefined> {
  return value(flags, help, (text) => text, more);
}

/** A text that says something. */
export function text(flags: string, help: string, more?: More): OptionSpec<string | undefined> {
  return value(flags, help, (given, name) => requireText(name, given), more);
}

export function requireText(name: string, given: string): string {
  if (given.trim() !== "") return given.trim();
  throw new WorkError("usage", `${name}: the text is empty.`);
}

/** A path that is not empty: an empty one would be the current folder. */
export function path(flags: string, help: string, more?: More): OptionSpec<string | undefined> {
  return value(flags, help, (given, name) => requirePath(name, given), more);
}

export function requirePath(name: string, given: string): string {
  if (given !== "") return given;
  throw new WorkError("usage", `${name} is empty.`, {
    hint: "Check that the shell variable you used is set.",
  });
}

/** A path of the current folder as an absolute one. */
export function absolute(cwd: string, given: string, name = "The path"): string {
  return resolve(cwd, requirePath(name, given));
}

export function count(flags: string, help: string, min: number, more?: More): OptionSpec<number | undefined> {
  return value(flags, help, (given, name) => readCount(name, given, min), more);
}

/** A whole number of at least `min`. */
export function readCount(name: string, given: string, min: number): number {
  const number = /^\d+$/.test(given) ? Number(given) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= min) return number;
  throw new WorkError("usage", `${name}: "${given}" is not a whole number of at least ${min}.`);
}

/** A share from 0 to 1. */
export function share(flags: string, help: string): OptionSpec<number | undefined> {
  return value(flags, help, (given, name) => {
    const number = /^\d*\.?\d+$/.test(given) ? Number(given) : Number.NaN;
    if (number >= 0 && number <= 1) return number;
    throw new WorkError("usage", `${name}: "${given}" is not a share from 0 to 1, such as 0.2.`);
  });
}

export function duration(flags: string, help: string, more?: More): OptionSpec<number | undefined> {
  return value(flags, help, parseDuration, more);
}

/** Letters in a stretch of time, as `5/s`. */
export function rate(help: string): OptionSpec<Rate | undefined> {
  return value("--rate <n/s>", help, parseRate);
}

/** The same rate as workers and queues have it. */
export function perSecond({ letters, perMs }: Rate): { readonly perSecond: number } {
  return { perSecond: (letters * 1000) / perMs };
}

/** `none` is null: it removes a setting. */
export function orNone<Value>(spec: OptionSpec<Value | undefined>): OptionSpec<Value | null | undefined> {
  return { ...spec, read: (raw, name) => (raw === "none" ? null : spec.read(raw, name)) };
}

export function choice<const Choice extends string>(
  flags: string,
  help: string,
  choices: readonly Choice[],
  more: More = {},
): OptionSpec<Choice | undefined> {
  return { ...value(flags, help, (given) => given as Choice, more), choices };
}

/** Values as they are given, each with the option before it. */
export function repeated(flags: string, help: string): OptionSpec<readonly string[] | undefined> {
  return { flags, help, isRepeated: true, read: (raw) => (Array.isArray(raw) ? raw : undefined) };
}

/** Values separated by commas, or given again; what follows them on the command line is not taken for one more. */
export function list(flags: string, help: string): OptionSpec<readonly string[] | undefined> {
  return { ...repeated(flags, help), read: (raw) => (Array.isArray(raw) ? splitWords(raw) : undefined) };
}

export function splitWords(texts: readonly string[]): readonly string[] {
  return texts.flatMap((one) => one.split(",")).map((one) => one.trim());
}

/** Each of the words is one of the known ones, in any case. */
export function listOf<const Known extends string>(
  flags: string,
  help: string,
  known: readonly Known[],
  code: ErrorCode = "filter_invalid",
): OptionSpec<readonly Known[] | undefined> {
  const words = list(flags, help);
  const read = (name: string, given: string): Known => {
    const found = known.find((one) => one.toLowerCase() === given.toLowerCase());
    if (found !== undefined) return found;
    throw new WorkError(code, `${name}: unknown value "${given}".`, {
      hint: `Valid values: ${known.join(", ")}.`,
    });
  };
  return { ...words, read: (raw, name) => words.read(raw, name)?.map((one) => read(name, one)) };
}

// Options that several commands share.

export const dryRun = flag("--dry-run", "print what would be done, and do nothing");
export const yes = flag("-y, --yes", "do not ask for confirmation");
export const quiet = flag("-q, --quiet", "suppress progress and command output");
export const limit = withDefault(count("-l, --limit <n>", "print at most this many", 1), 20);
export const cursor = word("--cursor <cursor>", "continue after this cursor: the `next` of the page before");
export const reason = text("--reason <text>", "why");
export const note = text("--note <text>", "a note that is kept with the change");
export const storeWaitMs = duration(
  "--store-wait <duration>",
  "how long to wait for a store that cannot be written (default: 30s)",
);
export const storeWaitForeverMs = duration(
  "--store-wait <duration>",
  "how long to wait for a store that does not answer (default: until it answers)",
);
export const keepEvidence = flag(
  "--keep-evidence",
  "copy the files that the work names as evidence (default: record digest, size and type only)",
);
export const allowOptions = flag(
  "--allow-options",
  "accept items that begin with - where the command could read them as options (default: such an item fails)",
);
export const retries = (help: string) =>
  count("-r, --retries <n>", help, 0, { aliases: [{ flags: "--max-retries <n>" }] });
export const canary = flag(
  "--canary",
  "retry one letter of each group first, then 1 %, 10 %, all; stop when the same failure returns",
);

export function concurrency(help: string): OptionSpec<number | undefined> {
  const old = ["--jobs <n>", "--parallel <n>", "--max-parallel <n>"];
  return count("-j, --concurrency <n>", help, 1, { aliases: old.map((flags) => ({ flags })) });
}

export const untilEmpty = flag(
  "--until-empty",
  "end when the queue has nothing left that is due, or due soon",
  { aliases: [{ flags: "--drain" }] },
);
export const dueWithinMs = duration(
  "--due-within <duration>",
  "with --until-empty: leave items that are due later than this (default: 5m)",
);
export const drainMs = withDefaultText(
  duration(
    "--drain-timeout <duration>",
    "after a signal, how long running attempts may take before they are stopped and released",
  ),
  30_000,
  "30s",
);

/** The default is shown as people write it. */
export function withDefaultText<Value>(
  spec: OptionSpec<Value | undefined>,
  fallback: Value,
  shown: string,
): OptionSpec<Value> {
  return { ...withDefault(spec, fallback), help: `${spec.help} (default: ${shown})` };
}

export const backoff = value(
  "--backoff <spec>",
  "how long to wait before a retry: exponential:1s:30s, linear:1s:30s, fibonacci:1s:30s, fixed:5s, list:1s,5s or none; :nojitter at the end turns off randomness (default: exponential:1s:30s)",
  (given) => parseBackoff(given),
);
export const breaker = count(
  "--breaker <n>",
  "pause after this many failures in a row, then try a few items (default: none)",
  1,
);
export const breakerTimeoutMs = duration(
  "--breaker-timeout <duration>",
  "how long the breaker pauses (default: 30s)",
);
export const onOutage = choice(
  "--on-outage <action>",
  "when the service that the work needs is down or throttles: retry uses up attempts like any failure, wait pauses the queue and uses up none (default: retry)",
  OUTAGE_ACTIONS,
);
export const outageMsMax = duration(
  "--max-outage <duration>",
  "with --on-outage wait: how long to wait before attempts count again (default: 24h)",
);
export const onFailureCommand = word(
  "--on-failure-command <command>",
  "when an item is out of retries, run this in a shell: exit code 0 means handled, 75 retry, anything else a dead letter; it gets the failure on stdin and in REDRIVE_ERROR_TYPE, REDRIVE_ERROR_MESSAGE, REDRIVE_ERROR_STEP and REDRIVE_ERROR_EXIT_CODE",
);

/** Of commands about one job: a named queue is called by either word. */
export function ofJob(help: string): OptionSpec<string | undefined> {
  return word("--job <job>", help, {
    aliases: [{ flags: "--queue <queue>", help: "the same for a named queue" }],
  });
}

/** What becomes of an item that is out of retries. */
export const FAILURE_CHOICES = ["dlq", "retry", "skip", "stop"] as const satisfies readonly OnItemFailure[];

const DUE_WITHIN_MS = 5 * 60_000;

/** `--due-within` has a meaning only with `--until-empty`. */
export function readDueWithin(flags: {
  readonly untilEmpty: boolean;
  readonly dueWithinMs?: number;
}): number {
  if (flags.dueWithinMs === undefined || flags.untilEmpty) return flags.dueWithinMs ?? DUE_WITHIN_MS;
  throw new WorkError("usage", "--due-within needs --until-empty.", {
    hint: "Without --until-empty a worker waits for every item, however late it is due.",
  });
}

export const graceMs = withDefaultText(
  duration("--grace <duration>", "the time between the signals TERM and KILL"),
  DEFAULT_GRACE_MS,
  "5s",
);

/** The command of the user, of `map` and `worker`. */
export const COMMAND_HELP =
  "the command and its arguments; {} is the item, ${item.field} a field, ${item_id} the id, {.} {/} {//} {/.} {#} are as in GNU parallel; no shell is used; its stdin is the item";
