/**
 * What can come next on a command line: commands, options, their values, jobs, queues and items. Reads the definitions of the
 * commands and a store that exists; writes nothing.
 */
import type { Argument, Command, Option } from "commander";
import type { Engine } from "../engine.ts";
import { ENDING_KINDS, type JobKind } from "../item/job.ts";

/** A word that fits, and what it is. */
export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** The words before the cursor without the program's name; the last one is being typed and may be empty. */
export async function candidatesFor(
  program: Command,
  words: readonly string[],
  engine: Engine | null,
): Promise<readonly Candidate[]> {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  if (before.includes("--")) return []; // the user's own command
  const place = placeOf(program, before);
  const all = await fitting(place, { typed, engine });
  return all.filter(({ word }) => word.startsWith(typed) && word !== typed);
}

/** Where the cursor stands: the command, its arguments so far, its options so far, and an option that waits for its value. */
interface Place {
  readonly command: Command;
  readonly given: readonly string[];
  readonly options: ReadonlyMap<string, string>;
  readonly waiting: Option | undefined;
}

function placeOf(program: Command, words: readonly string[]): Place {
  let command = program;
  let waiting: Option | undefined;
  const given: string[] = [];
  const options = new Map<string, string>();
  for (const word of words) {
    if (waiting) {
      options.set(waiting.attributeName(), word);
      waiting = undefined;
    } else if (word.startsWith("-")) {
      const option = command.options.find((one) => one.short === word || one.long === word);
      waiting = option?.required ? option : undefined;
    } else {
      const below = given.length === 0 ? command.commands.find((one) => isCalled(one, word)) : undefined;
      if (below) command = below;
      else given.push(word);
    }
  }
  return { command, given, options, waiting };
}

function isCalled(command: Command, word: string): boolean {
  return command.name() === word || command.aliases().includes(word);
}

interface Cursor {
  readonly typed: string;
  readonly engine: Engine | null;
}

async function fitting(place: Place, cursor: Cursor): Promise<readonly Candidate[]> {
  const { command, given, waiting } = place;
  if (waiting) return valuesOf(waiting.attributeName(), waiting.argChoices, place, cursor);
  if (cursor.typed.startsWith("-")) return optionsOf(command);
  if (command.commands.length > 0 && given.length === 0) return commandsOf(command);
  const argument = command.registeredArguments[given.length] ?? lastVariadic(command.registeredArguments);
  return argument === undefined ? [] : valuesOf(argument.name(), argument.argChoices, place, cursor);
}

function lastVariadic(all: readonly Argument[]): Argument | undefined {
  const last = all.at(-1);
  return last?.variadic ? last : undefined;
}

/** A hidden command has no description. */
function commandsOf(command: Command): readonly Candidate[] {
  return command.commands
    .filter((one) => one.description() !== "")
    .map((one) => ({ word: one.name(), about: one.description() }));
}

function optionsOf(command: Command): readonly Candidate[] {
  return command.options
    .filter(({ hidden, long }) => !hidden && long !== undefined)
    .map(({ long, description }) => ({ word: long ?? "", about: description }));
}

/** Names of options and arguments that are a job, a queue or items, wherever they stand. */
async function valuesOf(
  name: string,
  choices: readonly string[] | undefined,
  place: Place,
  { engine }: Cursor,
): Promise<readonly Candidate[]> {
  if (choices !== undefined) return choices.map((word) => ({ word, about: "" }));
  if (engine === null) return [];
  if (/^(job|jobs)(-or-item)?$/.test(name)) return jobsOf(engine, ENDING_KINDS);
  if (/^(queue|queues)$/.test(name)) return jobsOf(engine, ["queue"]);
  if (/^target$/.test(name)) return jobsOf(engine, ["target"]);
  return /^items?$/.test(name) ? itemsOf(engine, place) : [];
}

const JOBS_MAX = 200;

async function jobsOf(engine: Engine, kinds: readonly JobKind[]): Promise<readonly Candidate[]> {
  const jobs = await engine.listJobs({ limit: JOBS_MAX, kinds });
  return jobs.map(({ id, name, status }) => ({ word: name === "" ? id : name, about: `${id}, ${status}` }));
}

const ITEMS_MAX = 500;

/** Of a command on letters the letters, else the items of the queue; of the job that the line names, if it names one. */
async function itemsOf(engine: Engine, { command, given, options }: Place): Promise<readonly Candidate[]> {
  const named = options.get("job") ?? options.get("queue") ?? given[0];
  const job = named === undefined ? null : await engine.findJob(named);
  if (command.parent?.name() !== "dlq") {
    if (job === null) return [];
    const items = await engine.listItems({ queue: job.id, limit: ITEMS_MAX });
    return items.map(({ itemId, state }) => ({ word: itemId, about: state }));
  }
  const queue = job === null ? {} : { queue: job.id };
  const { letters } = await engine.listLetters({ ...queue, limit: ITEMS_MAX, parts: [], counted: false });
  return letters.map(({ itemId, errorPattern }) => ({ word: itemId, about: errorPattern }));
}
