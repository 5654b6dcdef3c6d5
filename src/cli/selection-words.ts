/** The words that select letters, the same in every command. What cannot be understood is an error, never "everything". */
import { WorkError } from "../errors.ts";
import { ERROR_CLASSES, ERROR_TYPE_NAMES, type ErrorClass, type ErrorTypeName } from "../item/error-type.ts";
import type { LetterFilter } from "../item/letter-filter.ts";
import { type ItemState, LETTER_STATES, parseItemState } from "../item/state.ts";
import { parseDuration } from "../kit/duration.ts";
import type { Selection } from "../redrive/select.ts";
import { words } from "./list-words.ts";

export interface SelectionFlags {
  readonly job?: string;
  readonly queue?: string;
  readonly group?: readonly string[];
  readonly type?: readonly string[];
  readonly class?: readonly string[];
  readonly state?: readonly string[];
  readonly olderThan?: string;
  readonly newerThan?: string;
  readonly ageOf?: string;
  readonly attempts?: string;
  readonly eligible?: boolean;
  readonly search?: string;
  readonly filter?: string;
}

/** Whatever can be refused before a store is asked: everything but whether there are such groups. */
export function checkSelection({ group, ...flags }: SelectionFlags): Selection {
  const empty = words(group)?.find((word) => word === "");
  if (empty !== undefined) throw notAGroup(empty);
  return selectionFrom(flags);
}

/** The selection without the job, which each command resolves in its own way. Groups are given by their signatures. */
export function selectionFrom(flags: SelectionFlags): Selection {
  if (flags.filter === undefined) return { filter: filterFrom(flags) };
  return { filter: filterFrom(flags), where: readExpression(flags.filter) };
}

/** The part of it that a store searches by. */
function filterFrom(flags: SelectionFlags): LetterFilter {
  return {
    ...(flags.group && { signatures: words(flags.group).map(readSignature) }),
    ...(flags.type && { types: readWords<ErrorTypeName>("--type", flags.type, ERROR_TYPE_NAMES) }),
    ...(flags.class && { classes: readWords<ErrorClass>("--class", flags.class, ERROR_CLASSES) }),
    ...(flags.state && { states: words(flags.state).flatMap(readStates) }),
    ...(flags.olderThan !== undefined && { olderThanMs: parseDuration(flags.olderThan, "--older-than") }),
    ...(flags.newerThan !== undefined && { newerThanMs: parseDuration(flags.newerThan, "--newer-than") }),
    ...readAgeOf(flags),
    ...(flags.attempts !== undefined && readRange(flags.attempts)),
    ...(flags.eligible && { eligible: true }),
    ...(flags.search !== undefined && { text: readText(flags.search) }),
  };
}

function readSignature(word: string): string {
  if (isSignature(word)) return word;
  throw notAGroup(word);
}

/** Whether it is a whole one. */
export function isSignature(word: string): boolean {
  return /^[0-9a-f]{16}$/.test(word);
}

/** A word of `--group` that means nothing. */
export function notAGroup(word: string): WorkError {
  const message = `--group: "${word}" is not the signature of a group, nor the beginning of one or a name.`;
  return new WorkError("filter_invalid", message, {
    hint: "`redrive groups list --state all` lists all groups.",
  });
}

function readWords<Word extends string>(
  option: string,
  texts: readonly string[],
  known: readonly Word[],
): Word[] {
  return words(texts).map((word) => {
    const found = known.find((name) => name.toLowerCase() === word.toLowerCase());
    if (found !== undefined) return found;
    throw new WorkError("filter_invalid", `${option}: there is no ${word || "empty one"}.`, {
      hint: `There are: ${known.join(", ")}.`,
    });
  });
}

/** `resolved` is what a letter is called whose item is done. */
function readStates(word: string): readonly ItemState[] {
  const lower = word.toLowerCase();
  if (lower === "all") return LETTER_STATES;
  const state = lower === "resolved" ? "done" : parseItemState(lower);
  const found = LETTER_STATES.find((one) => one === state);
  if (found !== undefined) return [found];
  throw new WorkError("filter_invalid", `--state: no letter is "${word}".`, {
    hint: "There are: dead, ready, leased, held, discarded, resolved, all.",
  });
}

/** What ages are counted from; without an age it would do nothing. */
function readAgeOf({ ageOf, olderThan, newerThan }: SelectionFlags): Pick<LetterFilter, "ageOf"> {
  if (ageOf === undefined) return {};
  const found = (["first", "last"] as const).find((one) => one === ageOf.toLowerCase());
  if (found === undefined) {
    throw new WorkError("filter_invalid", `--age-of: "${ageOf}" is neither first nor last.`, {
      hint: "first counts from the first failure of a letter, last from its last failure.",
    });
  }
  if (olderThan === undefined && newerThan === undefined) {
    throw new WorkError("filter_invalid", "--age-of goes with --older-than or --newer-than.");
  }
  return { ageOf: found };
}

/** `3`, `3..`, `..5` or `2..5`. */
function readRange(text: string): Pick<LetterFilter, "attemptsMin" | "attemptsMax"> {
  const [, min = "", dots, max = ""] = /^(\d*)(\.\.)?(\d*)$/.exec(text.trim()) ?? [];
  const attemptsMin = min === "" ? undefined : Number(min);
  const attemptsMax = dots === undefined ? attemptsMin : max === "" ? undefined : Number(max);
  const isBackwards = attemptsMin !== undefined && attemptsMax !== undefined && attemptsMax < attemptsMin;
  if ((attemptsMin ?? attemptsMax) === undefined || isBackwards) {
    throw new WorkError("filter_invalid", `--attempts: "${text}" is not a number or a range.`, {
      hint: "Write 3 for just three, 3.. for three or more, ..5 for five or fewer, 2..5 for two to five.",
    });
  }
  return {
    ...(attemptsMin !== undefined && { attemptsMin }),
    ...(attemptsMax !== undefined && { attemptsMax }),
  };
}

function readText(text: string): string {
  if (text.trim() !== "") return text;
  throw new WorkError("filter_invalid", "--search: the text to search for is empty.");
}

/** Whether it is CEL that makes sense is found out where it is compiled, before anything is touched. */
function readExpression(text: string): string {
  if (text.trim() !== "") return text;
  throw new WorkError("filter_invalid", "--filter: the expression is empty.", {
    hint: "It matches nothing. Write CEL, e.g. item.size > 10 && letter.failure_count > 2.",
  });
}
