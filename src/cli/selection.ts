/**
 * Selects the letters of a command by options that all commands share, and by the named job and items. Invalid input is an
 * error, so that it never selects all letters.
 */
import type { Engine } from "../engine.ts";
import { isError, RedriveError } from "../errors.ts";
import { ERROR_CLASSES, ERROR_TYPE_NAMES } from "../item/error-type.ts";
import type { Job } from "../item/job.ts";
import type { LetterFilter } from "../item/letter-query.ts";
import { type ItemState, LETTER_STATES, parseItemState } from "../item/state.ts";
import { requireItem } from "../queue/find-item.ts";
import { everyJob, requireJob } from "../queue/find-job.ts";
import { resolveSignatures, unknownGroup } from "../redrive/groups.ts";
import { matcherOf, type Selection } from "../redrive/select.ts";
import { compact } from "../std/json.ts";
import type { Given, OptionSpec } from "./command.ts";
import { duration, flag, list, listOf, mapped, under, value, word } from "./options.ts";

/** The options of all commands that select letters. */
export const selectionOptions = under("Which letters", {
  job: word("--job <job>", "letters of this job"),
  queue: word("--queue <queue>", "letters of this queue (a job's queue has the job's id)"),
  groups: list(
    "--group <groups>",
    "letters of these groups: signatures, beginnings of them or names (list them: redrive groups)",
  ),
  types: listOf(
    "--type <types>",
    "letters with these error types, e.g. Timeout,CommandFailed",
    ERROR_TYPE_NAMES,
  ),
  classes: listOf(
    "--class <classes>",
    "letters with these error classes: transient, throttled, outage, permanent, unknown",
    ERROR_CLASSES,
  ),
  states: letterStates(),
  olderThanMs: duration(
    "--older-than <duration>",
    "letters that first failed this long ago or earlier, e.g. 2h",
  ),
  newerThanMs: duration("--newer-than <duration>", "letters that first failed less than this ago"),
  ageOf: value(
    "--age-of <failure>",
    "count ages from the `first` or the `last` failure (default: first)",
    readAgeOf,
  ),
  attempts: value("--attempts <range>", "letters with this many attempts: 3, 3.. or 2..5", readRange),
  eligible: flag("--eligible", "letters that may be retried without --force"),
  text: value(
    "--search <text>",
    "letters whose last message contains this text, in any case",
    (given, name) => requireFilter(given, `${name}: the text to search for is empty.`),
  ),
  where: value(
    "--filter <cel>",
    "letters for which this CEL expression is true, e.g. 'item.size > 10 && letter.failure_count > 2'",
    (given, name) => requireFilter(given, `${name}: the expression is empty.`),
  ),
});

export type SelectionFlags = Partial<Given<typeof selectionOptions>>;

/** The option `--state`; `resolved` means a letter whose item is done. */
function letterStates(): OptionSpec<readonly ItemState[] | undefined> {
  const help = "letters in these states: dead, ready, leased, held, discarded, resolved, all (default: dead)";
  const words = mapped(list("--state <states>", help), readStates);
  return { ...words, read: (raw, name) => words.read(raw, name)?.flat() };
}

function readStates(given: string): readonly ItemState[] {
  const lower = given.toLowerCase();
  if (lower === "all") return LETTER_STATES;
  const state = lower === "resolved" ? "done" : parseItemState(lower);
  const found = LETTER_STATES.find((one) => one === state);
  if (found !== undefined) return [found];
  throw new RedriveError("filter_invalid", `--state: unknown state "${given}".`, {
    hint: "Valid states: dead, ready, leased, held, discarded, resolved, all.",
  });
}

function readAgeOf(given: string): "first" | "last" {
  const found = (["first", "last"] as const).find((one) => one === given.toLowerCase());
  if (found !== undefined) return found;
  throw new RedriveError("filter_invalid", `--age-of: "${given}" is neither first nor last.`, {
    hint: "first counts from the first failure of a letter, last from its last failure.",
  });
}

/** Parses `3`, `3..`, `..5` or `2..5`. */
function readRange(given: string): Pick<LetterFilter, "attemptsMin" | "attemptsMax"> {
  const [, min = "", dots, max = ""] = /^(\d*)(\.\.)?(\d*)$/.exec(given.trim()) ?? [];
  const attemptsMin = min === "" ? undefined : Number(min);
  const attemptsMax = dots === undefined ? attemptsMin : max === "" ? undefined : Number(max);
  const isBackwards = attemptsMin !== undefined && attemptsMax !== undefined && attemptsMax < attemptsMin;
  if ((attemptsMin ?? attemptsMax) === undefined || isBackwards) {
    throw new RedriveError("filter_invalid", `--attempts: "${given}" is not a number or a range.`, {
      hint: "Write 3 for exactly three, 3.. for three or more, ..5 for five or fewer, 2..5 for two to five.",
    });
  }
  return compact({ attemptsMin, attemptsMax });
}

function requireFilter(given: string, message: string): string {
  if (given.trim() !== "") return given;
  throw new RedriveError("filter_invalid", message, {
    hint: "Check that the shell variable you used is set, or leave the option out.",
  });
}

/** Validates everything except the existence of groups, before the store is opened. */
export function checkSelection({ groups, ...flags }: SelectionFlags): Selection {
  if (groups?.includes("")) throw unknownGroup("");
  if (flags.ageOf !== undefined && flags.olderThanMs === undefined && flags.newerThanMs === undefined)
    throw new RedriveError("filter_invalid", "--age-of needs --older-than or --newer-than.");
  return selectionFrom(flags);
}

/** Builds the selection without the job, which each command determines itself. */
function selectionFrom(flags: SelectionFlags, signatures?: readonly string[]): Selection {
  const { types, classes, states, olderThanMs, newerThanMs, ageOf, attempts, eligible, text, where } = flags;
  const words = { signatures, types, classes, states, text, eligible: eligible || undefined };
  const filter = { ...compact({ ...words, olderThanMs, newerThanMs, ageOf }), ...attempts };
  return { filter, ...compact({ where }) };
}

/** Whether the options select fewer than all letters. */
export function isNarrowed(flags: SelectionFlags): boolean {
  const { filter, where } = selectionFrom(flags, flags.groups);
  return Object.keys(filter).length > 0 || where !== undefined;
}

/** Builds the selection and resolves groups, given as signatures, unique prefixes or names; follows merged groups. */
export async function selectionIn(engine: Engine, flags: SelectionFlags): Promise<Selection> {
  const selection = checkSelection(flags);
  if (flags.groups === undefined) return selection;
  return selectionFrom(flags, await resolveSignatures(engine, flags.groups));
}

/** Builds the selection for the named job, or for all jobs. */
export async function selectedIn(
  engine: Engine,
  name: string | undefined,
  flags: SelectionFlags,
): Promise<{ readonly selection: Selection; readonly job: Job | null }> {
  const { filter, ...selection } = await selectionIn(engine, flags);
  const job = await jobFrom(engine, name, flags);
  return { job, selection: { ...selection, filter: { ...filter, ...(job && { queue: job.id }) } } };
}

/** The job, items and options that a command on letters received. */
export interface LetterWords {
  /** The first argument. If the command also takes items and no such job exists, it is an item. */
  readonly job?: string | undefined;
  /** Absent if the command takes no items. */
  readonly items?: readonly string[] | undefined;
  readonly flags: SelectionFlags;
  /** The default states of the selected letters, unless `--state` is given. Default: dead. */
  readonly states?: readonly ItemState[];
  /** Skips named items that do not exist, unless all are missing. Default: a missing item is an error. */
  readonly skipsUnknown?: boolean;
}

/** Finds the job (the named one, that of the named items, or the only one with letters) and the selection in it. */
export async function resolveBulk(
  engine: Engine,
  { job: name, items, flags, states, skipsUnknown = false }: LetterWords,
): Promise<{ readonly job: Job; readonly selection: Selection; readonly unknown: readonly string[] }> {
  const selection = await selectionIn(engine, flags);
  if (selection.where !== undefined) await matcherOf(selection.where); // refuses an invalid expression
  const isJob = (word: string) =>
    requireJob(engine, word).then(
      () => true,
      (error) => ifJobMissing(error, false),
    );
  const isItem = items !== undefined && name !== undefined && !(await isJob(name));
  const named = await jobFrom(engine, isItem ? undefined : name, flags);
  const names = isItem ? [name, ...items] : (items ?? []);
  const found = await findNamed(engine, names, {
    queue: named?.id,
    maybeJob: isItem ? name : undefined,
    states: selection.filter.states ?? states ?? ["dead"],
    skipsUnknown,
  });
  const job = named ?? found.job ?? (await onlyJobWithLetters(engine, selection.filter.states ?? states));
  const itemIds = names.length > 0 ? { itemIds: found.itemIds } : {};
  const filter = { ...selection.filter, queue: job.id, ...itemIds };
  return { job, selection: { ...selection, filter }, unknown: found.unknown };
}

/** Returns the value if the error means that the job does not exist; throws any other error. */
export function ifJobMissing<T>(error: unknown, value: T): T {
  if (isError(error, "job_not_found")) return value;
  throw error;
}

/** Finds the ids of the named items, and their job. `maybeJob` is a name that could also have meant a job. */
async function findNamed(
  engine: Engine,
  names: readonly string[],
  options: {
    readonly queue: string | undefined;
    readonly maybeJob: string | undefined;
    readonly states: readonly ItemState[];
    readonly skipsUnknown: boolean;
  },
): Promise<{ itemIds: readonly string[]; unknown: readonly string[]; job?: Job }> {
  const { queue, maybeJob, states, skipsUnknown } = options;
  const itemIds: string[] = [];
  const unknown: string[] = [];
  let firstError: unknown;
  let home = queue;
  for (const name of names) {
    try {
      const item = await requireItem(engine, name, home, ({ state }) => states.includes(state));
      home = item.queue;
      itemIds.push(item.itemId);
    } catch (error) {
      const isMissing = isError(error, "item_not_found");
      const reported = isMissing && name === maybeJob ? neitherJobNorItem(name) : error;
      if (!skipsUnknown || !isMissing) throw reported;
      firstError ??= reported;
      unknown.push(name);
    }
  }
  if (firstError !== undefined && itemIds.length === 0) throw firstError;
  return { itemIds, unknown, ...(home !== undefined && { job: await requireJob(engine, home) }) };
}

function neitherJobNorItem(name: string): RedriveError {
  return new RedriveError("job_not_found", `No job and no item is called ${name}.`, {
    hint: "List jobs: redrive jobs. List letters: redrive dlq list",
  });
}

/** Finds the job named by the argument, `--job` or `--queue`; all given names must mean the same job. */
export async function jobFrom(
  engine: Engine,
  argument: string | undefined,
  flags: SelectionFlags,
): Promise<Job | null> {
  const named: Job[] = [];
  if (argument !== undefined) named.push(await requireJob(engine, argument));
  if (flags.job !== undefined) named.push(await requireJob(engine, flags.job));
  if (flags.queue !== undefined) named.push(await requireQueueOf(engine, flags.queue));
  const [first, ...others] = named;
  const other = others.find((job) => job.id !== first?.id);
  if (first !== undefined && other !== undefined)
    throw new RedriveError("usage", `Two jobs were named: ${first.id} and ${other.id}.`, {
      hint: "Name one.",
    });
  return first ?? null;
}

/** Finds a queue by its id, which is the id of its job. */
async function requireQueueOf(engine: Engine, queue: string): Promise<Job> {
  const job = await engine.findJob(queue);
  if (job?.id === queue) return job;
  throw new RedriveError("job_not_found", `There is no queue ${queue}.`, {
    hint: "List queues: redrive queue list. A job's queue has the job's id: redrive jobs",
  });
}

const CANDIDATES_MAX = 10;

/** Returns the only job with letters, or throws an error that lists the jobs with letters. */
export async function onlyJobWithLetters(engine: Engine, states?: readonly ItemState[]): Promise<Job> {
  const sums = states === undefined ? await countWaiting(engine) : await countInStates(engine, states);
  const [first, ...more] = [...sums.keys()];
  if (first === undefined)
    throw new RedriveError("item_not_found", emptyText(states), {
      hint: "Count the letters of all jobs: redrive dlq stats",
    });
  if (more.length === 0) return requireJob(engine, first);
  const names = [...sums].slice(0, CANDIDATES_MAX).map(([queue, letters]) => `${queue} (${letters})`);
  const cut = sums.size > CANDIDATES_MAX ? ", …" : "";
  throw new RedriveError("ambiguous", `${sums.size} jobs have letters: ${names.join(", ")}${cut}.`, {
    hint: `Name one of them, e.g. ${first}.`,
  });
}

function emptyText(states: readonly ItemState[] | undefined): string {
  if (states === undefined) return "The dead letter queue is empty.";
  return `No letter is ${states.map((state) => (state === "done" ? "resolved" : state)).join(" or ")}.`;
}

async function countWaiting(engine: Engine): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  for (const { queue, count } of await engine.listGroups({})) sums.set(queue, (sums.get(queue) ?? 0) + count);
  return sums;
}

async function countInStates(
  engine: Engine,
  states: readonly ItemState[],
): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  for await (const { id } of everyJob(engine)) {
    const { total } = await engine.listLetters({ queue: id, states, limit: 0 });
    if (total > 0) sums.set(id, total);
  }
  return sums;
}
