/** The words that select letters, the same in every command. What cannot be understood is an error, never "everything". */
import type { Engine, LetterFilter } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { ERROR_CLASSES, ERROR_TYPE_NAMES, type ErrorClass, type ErrorTypeName } from "../item/error-type.ts";
import type { Job } from "../item/job.ts";
import { requireJob } from "../job/find-job.ts";
import { parseDuration } from "../kit/duration.ts";

export interface SelectionFlags {
  readonly job?: string;
  readonly group?: string;
  readonly type?: string[];
  readonly class?: string[];
  readonly olderThan?: string;
  readonly eligible?: boolean;
}

/** The filter without the job, which each command resolves in its own way. */
export function filterFrom(flags: SelectionFlags): LetterFilter {
  return {
    ...(flags.group !== undefined && { signature: readSignature(flags.group) }),
    ...(flags.type && {
      types: flags.type.flatMap((text) => readWords<ErrorTypeName>("--type", text, ERROR_TYPE_NAMES)),
    }),
    ...(flags.class && {
      classes: flags.class.flatMap((text) => readWords<ErrorClass>("--class", text, ERROR_CLASSES)),
    }),
    ...(flags.olderThan !== undefined && { olderThanMs: parseDuration(flags.olderThan, "--older-than") }),
    ...(flags.eligible && { eligible: true }),
  };
}

/** The job that was named, as an argument or with `--job`; both must not contradict. */
export async function jobFrom(
  engine: Engine,
  argument: string | undefined,
  flags: SelectionFlags,
): Promise<Job | null> {
  const name = argument ?? flags.job;
  if (argument !== undefined && flags.job !== undefined && argument !== flags.job) {
    throw new WorkError("usage", `Two jobs were named: ${argument} and ${flags.job}.`);
  }
  return name === undefined ? null : requireJob(engine, name);
}

const CANDIDATES_MAX = 10;

/** No job named: the only one with letters, or an error that lists those there are. */
export async function onlyJobWithLetters(engine: Engine): Promise<Job> {
  const sums = new Map<string, number>();
  for (const group of await engine.listGroups({}))
    sums.set(group.queue, (sums.get(group.queue) ?? 0) + group.count);
  const [first, ...more] = [...sums.keys()];
  if (first === undefined) throw new WorkError("item_not_found", "The dead letter queue is empty.");
  if (more.length === 0) return requireJob(engine, first);
  const list = [...sums].slice(0, CANDIDATES_MAX).map(([queue, count]) => `${queue} (${count})`);
  throw new WorkError(
    "ambiguous",
    `${sums.size} jobs have letters: ${list.join(", ")}${sums.size > CANDIDATES_MAX ? ", …" : ""}.`,
    {
      hint: "Name one of them.",
    },
  );
}

function readSignature(text: string): string {
  if (/^[0-9a-f]{16}$/.test(text)) return text;
  throw new WorkError("filter_invalid", `--group: "${text}" is not the signature of a group.`, {
    hint: "A signature has 16 hex digits; `redrive dlq inspect ITEM` shows it as the group.",
  });
}

function readWords<Word extends string>(option: string, text: string, known: readonly Word[]): Word[] {
  return text.split(",").map((word) => {
    const found = known.find((name) => name.toLowerCase() === word.trim().toLowerCase());
    if (found !== undefined) return found;
    throw new WorkError("filter_invalid", `${option}: there is no ${word}.`, {
      hint: `There are: ${known.join(", ")}.`,
    });
  });
}
