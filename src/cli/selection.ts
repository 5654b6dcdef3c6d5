/**
 * Selects the letters of a command by options that all commands share, and by the given job and items.
 * Invalid input is an error, so that it never selects all letters.
 */
import type { Engine } from "../engine.ts";
import { isError, type RedriveError } from "../errors.ts";
import { ERROR_CLASSES, ERROR_TYPE_NAMES } from "../item/error-type.ts";
import type { Job } from "../item/job.ts";
import type { LetterFilter } from "../item/letter-query.ts";
import { type ItemState, LETTER_STATES, parseItemState } from "../item/state.ts";
import { requireItem } from "../queue/find-item.ts";
import { everyJob, requireJob } from "../queue/find-job.ts";
import { resolveSignatures, unknownGroup } from "../redrive/groups.ts";
import { matcherOf, type Selection, stateWord } from "../redrive/select.ts";
import { compact } from "../std/json.ts";
import type { Given, OptionSpec } from "./command.ts";
import { userError } from "./exit-code.ts";
import { duration, flag, list, listOf, mapped, readKnown, under, value, word } from "./options.ts";

export const selectionOptions = under("Which letters", {
  job: word("--job <job>", "letters of this job"),
  queue: word("--queue <queue>", "letters of this queue (a job's queue has the same id as the job)"),
  groups: list("--group <groups>", "letters of these groups: signatures, unique prefixes, or names"),
  types: listOf("--type <types>", "letters with these error types, e.g. Timeout", ERROR_TYPE_NAMES),
  classes: listOf(
    "--class <classes>",
    `letters of these classes: ${ERROR_CLASSES.join(", ")}`,
    ERROR_CLASSES,
  ),
  states: letterStates(),
  olderThanMs: duration(
    "--older-than <duration>",
    "letters that first failed at least this long ago, e.g. 2h",
  ),
  newerThanMs: duration("--newer-than <duration>", "letters that first failed less than this long ago"),
  ageOf: value(
    "--age-of <failure>",
    "measure ages from the `first` or the `last` failure (default: first)",
    (given, name) => readKnown(given, name, ["first", "last"]),
  ),
  attempts: value("--attempts <range>", "letters with this many attempts: 3, 3.. or 2..5", readRange),
  eligible: flag("--eligible", "letters that may be retried without --force"),
  text: value(
    "--search <text>",
    "letters whose last message contains this text, ignoring case",
    requireFilter,
  ),
  where: value(
    "--filter <cel>",
    "letters for which this CEL expression is true, e.g. 'item.size > 10 && letter.failure_count > 2'",
    requireFilter,
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
  const hint = "Valid states: dead, ready, leased, held, discarded, resolved, all.";
  throw userError("filter_invalid", `--state: unknown state "${given}".`, hint);
}

/** Parses `3`, `3..`, `..5` or `2..5`. */
function readRange(given: string): Pick<LetterFilter, "attemptsMin" | "attemptsMax"> {
  const [, min = "", dots, max = ""] = /^(\d*)(\.\.)?(\d*)$/.exec(given.trim()) ?? [];
  const attemptsMin = min === "" ? undefined : Number(min);
  const attemptsMax = dots === undefined ? attemptsMin : max === "" ? undefined : Number(max);
  const isBackwards = attemptsMin !== undefined && attemptsMax !== undefined && attemptsMax < attemptsMin;
  if ((attemptsMin ?? attemptsMax) === undefined || isBackwards) {
    const hint =
      "Write 3 for exactly three, 3.. for three or more, ..5 for five or fewer, 2..5 for two to five.";
    throw userError("filter_invalid", `--attempts: "${given}" is not a number or a range.`, hint);
  }
  return compact({ attemptsMin, attemptsMax });
}

function requireFilter(given: string, name: string): string {
  if (given.trim() !== "") return given;
  const hint = "The shell variable may be unset. Set it, or omit the option.";
  throw userError("filter_invalid", `${name}: the text is empty.`, hint);
}

/** Validates everything except the existence of groups, before the store is opened. */
export function checkSelection({ groups, ...flags }: SelectionFlags): Selection {
  if (groups?.includes("")) throw unknownGroup("");
  if (flags.ageOf !== undefined && flags.olderThanMs === undefined && flags.newerThanMs === undefined)
    throw userError("filter_invalid", "--age-of needs --older-than or --newer-than.", "Add --older-than 2h.");
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

/**
 * The words of a command on letters. `name` is the first argument: if the command also takes items and no
 * such job exists, it is an item. `items` is absent if the command takes no items.
 */
export type LetterWords = SelectionFlags & { readonly name?: string; readonly items?: readonly string[] };

interface BulkOptions {
  /** The default states of the selected letters, unless `--state` is given. Default: dead. */
  readonly states?: readonly ItemState[];
  /** Skips given items that do not exist, unless all are missing. Default: a missing item is an error. */
  readonly skipsUnknown?: boolean;
}

/**
 * Finds the job (the given one, the job of the given items, or the only job with letters) and the selection
 * in it.
 */
export async function resolveBulk(
  engine: Engine,
  { name, items, ...flags }: LetterWords,
  options: BulkOptions = {},
): Promise<{ readonly job: Job; readonly selection: Selection; readonly unknown: readonly string[] }> {
  const selection = await selectionIn(engine, flags);
  if (selection.where !== undefined) await matcherOf(selection.where); // refuses an invalid expression
  const isItem = items !== undefined && name !== undefined && (await jobIfAny(engine, name)) === null;
  const named = await jobFrom(engine, isItem ? undefined : name, flags);
  const names = isItem ? [name, ...items] : (items ?? []);
  const states = selection.filter.states ?? options.states;
  const found = await findNamed(engine, names, {
    queue: named?.id,
    maybeJob: isItem ? name : undefined,
    ...options,
    ...compact({ states }),
  });
  const job =
    named ??
    found.job ??
    (await onlyJobWithLetters(engine, { ...selection.filter, ...(states && { states }) }));
  const itemIds = names.length > 0 ? { itemIds: found.itemIds } : {};
  const filter = { ...selection.filter, queue: job.id, ...itemIds };
  return { job, selection: { ...selection, filter }, unknown: found.unknown };
}

export async function jobIfAny(engine: Engine, name: string): Promise<Job | null> {
  return requireJob(engine, name).catch((error) => {
    if (isError(error, "job_not_found")) return null;
    throw error;
  });
}

/** Finds the ids of the given items, and their job. `maybeJob` is a name that could also refer to a job. */
async function findNamed(
  engine: Engine,
  names: readonly string[],
  options: BulkOptions & { readonly queue: string | undefined; readonly maybeJob: string | undefined },
): Promise<{ itemIds: readonly string[]; unknown: readonly string[]; job?: Job }> {
  const { queue, maybeJob, states = ["dead"], skipsUnknown = false } = options;
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
  const hint = "List jobs: redrive jobs. List letters: redrive dlq list";
  return userError("job_not_found", `No job or item is called ${name}.`, hint);
}

/** Finds the job given by the argument, `--job` or `--queue`; all given names must refer to the same job. */
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
    throw userError(
      "usage",
      `Two jobs were given: ${first.id} and ${other.id}.`,
      `Name one: --job ${first.id}`,
    );
  return first ?? null;
}

/** Finds a queue by its id, which is the id of its job. */
async function requireQueueOf(engine: Engine, queue: string): Promise<Job> {
  const job = await engine.findJob(queue);
  if (job?.id === queue) return job;
  const hint = "To list queues: redrive queue list. A job's queue has the same id as the job: redrive jobs";
  throw userError("job_not_found", `There is no queue ${queue}.`, hint);
}

const CANDIDATES_MAX = 10;

/** Returns the only job with letters that match the filter, or throws an error that lists the jobs. */
export async function onlyJobWithLetters(engine: Engine, filter: LetterFilter = {}): Promise<Job> {
  const { states, ...more } = filter;
  const isForAll = Object.keys(more).length === 0;
  const sums =
    states === undefined && isForAll ? await countWaiting(engine) : await countMatching(engine, filter);
  const [first, ...others] = [...sums.keys()];
  if (first === undefined) throw noLetters(filter);
  if (others.length === 0) return requireJob(engine, first);
  const names = [...sums].slice(0, CANDIDATES_MAX).map(([queue, letters]) => `${queue} (${letters})`);
  const cut = sums.size > CANDIDATES_MAX ? ", …" : "";
  const message = `${sums.size} jobs have ${isForAll ? "" : "such "}letters: ${names.join(", ")}${cut}.`;
  throw userError("ambiguous", message, `Select one, then the next: --job ${first}, --job ${others[0]}`);
}

function noLetters({ states, ...more }: LetterFilter): RedriveError {
  const state = states?.map(stateWord).join(" or ");
  const hint = "Count the letters of all jobs: redrive dlq stats";
  if (Object.keys(more).length > 0) return userError("item_not_found", "No letter matches.", hint);
  const message = state === undefined ? "The dead letter queue is empty." : `No letter is ${state}.`;
  return userError("item_not_found", message, hint);
}

async function countWaiting(engine: Engine): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  for (const { queue, count } of await engine.listGroups({})) sums.set(queue, (sums.get(queue) ?? 0) + count);
  return sums;
}

async function countMatching(engine: Engine, filter: LetterFilter): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  for await (const { id } of everyJob(engine)) {
    const { total } = await engine.listLetters({ ...filter, queue: id, limit: 0 });
    if (total > 0) sums.set(id, total);
  }
  return new Map([...sums].sort(([, a], [, b]) => b - a));
}
