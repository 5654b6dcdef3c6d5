/** What a table of letters can show, by name. */
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { isGeneratedId } from "../../intake/identity.ts";
import type { Letter } from "../../item/letter.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";
import { isJsonObject, type Json, stringifyJson } from "../../std/json.ts";
import { nearest } from "../../std/nearest.ts";
import { failureTitle, locationText } from "../../triage/title.ts";
import { splitWords } from "../options.ts";
import { type Facts, shareFacts, titleFacts } from "./failures.ts";
import { clean, type Paint, width } from "./paint.ts";
import { shorten } from "./shorten.ts";
import type { Column } from "./table.ts";
import { agoText } from "./words.ts";

/** What the columns need to know besides the letter. */
export interface ColumnView {
  readonly paint: Paint;
  readonly now: number;
  /** On a terminal the error line leaves out the item's own data, which stands beside it. Default false. */
  readonly isTerminal?: boolean;
  /** What an item's id is shown as. Default: all of it. */
  readonly idOf?: (itemId: string) => string;
}

type Columns = Readonly<Record<string, Column<Letter>>>;

/** The columns that were asked for, in that order; `all` is every one. An unknown name is an error that lists them. */
export function columnsFor(names: readonly string[], view: ColumnView): readonly Column<Letter>[] {
  const known = everyColumn(view);
  return splitWords(names).flatMap((given) => {
    const word = given.toLowerCase();
    if (word === "all") return Object.values(known);
    const column = Object.hasOwn(known, word) ? known[word] : undefined;
    if (column !== undefined) return [column];
    const meant = nearest(word, Object.keys(known));
    throw new WorkError(
      "usage",
      `--columns: there is no "${word}"${meant ? `; did you mean ${meant}?` : "."}`,
      {
        hint: `There are: ${Object.keys(known).join(", ")}, all.`,
      },
    );
  });
}

/** A list of letters: what all of them share, and the columns for the rest. */
export interface LetterColumns {
  readonly heading: string;
  readonly columns: readonly Column<Letter>[];
}

/** The item's own data and the error line matter most; the other columns make room for them. */
export function usualColumns(
  letters: readonly Letter[],
  { withJob, ...view }: ColumnView & { readonly withJob: boolean },
): LetterColumns {
  const known = everyColumn(view);
  const { heading, own } = shareFacts(letters.map(factsOf));
  const whereOf = new Map(letters.map((letter, index) => [letter, own[index] ?? ""]));
  const where: Column<Letter> = { title: "WHERE", value: (letter) => whereOf.get(letter) ?? "", cutTo: 20 };
  const isNamed = letters.every(isNamedById);
  const columns = [
    !isNamed && known.data && { ...known.data, paint: view.paint.bold, cutTo: DATA_COLUMNS_MIN },
    known.item && (isNamed ? known.item : { title: known.item.title, value: known.item.value, giveUp: 4 }),
    withJob && known.job && { ...known.job, giveUp: 1 },
    known.attempts && { ...known.attempts, giveUp: 6 },
    known.died && { ...known.died, giveUp: 5 },
    own.some(Boolean) && { ...where, giveUp: 2 },
    known.error && { ...known.error, cutTo: ERROR_COLUMNS_MIN },
  ];
  return {
    heading,
    columns: columns.filter((column): column is Column<Letter> => typeof column === "object"),
  };
}

const DATA_COLUMNS_MIN = 20;
const ERROR_COLUMNS_MIN = 30;

/** Type, location, and why it is not simply waiting for a retry. */
function factsOf(letter: Letter): Facts {
  const last = letter.failureHistory.at(-1);
  const remark = letter.state === "dead" ? remarkOf(letter) : stateWord(letter);
  return [...(last === undefined ? EMPTY_FACTS : titleFacts(failureTitle(last))), remark];
}

const EMPTY_FACTS: Facts = ["", "", "", "", ""];

function everyColumn({ paint, now, isTerminal, idOf = (id) => id }: ColumnView): Columns {
  const last = (letter: Letter) => letter.failureHistory.at(-1);
  const number = (title: string, value: (letter: Letter) => number): Column<Letter> => ({
    title,
    value: (letter) => String(value(letter)),
    align: "right",
  });
  return {
    item: { title: "ITEM", value: (letter) => idOf(letter.itemId), paint: paint.bold, cutTo: 16 },
    job: { title: "JOB", value: (letter) => letter.jobId, cutTo: 14 },
    state: { title: "STATE", value: (letter) => stateWord(letter) },
    attempts: number("TRIES", (letter) => letter.failureCount),
    died: {
      title: "DIED",
      value: (letter) => agoText(now - letter.lastAttempt),
      align: "right",
    },
    type: { title: "TYPE", value: typeText, cutTo: 13 },
    class: { title: "CLASS", value: (letter) => last(letter)?.errorClass ?? "" },
    group: { title: "GROUP", value: (letter) => letter.errorSignature },
    step: { title: "STEP", value: (letter) => last(letter)?.stepFailed ?? "", cutTo: 16 },
    exit: {
      title: "EXIT",
      value: (letter) => String(last(letter)?.exitCode ?? last(letter)?.signal ?? ""),
      align: "right",
    },
    redrives: number("REDRIVES", (letter) => letter.redriveCount),
    revision: number("REVISION", (letter) => letter.revision),
    notes: number("NOTES", (letter) => letter.notes?.length ?? 0),
    eligible: { title: "ELIGIBLE", value: (letter) => (letter.reprocessEligible ? "yes" : "no") },
    age: {
      title: "AGE",
      value: (letter) => formatDuration(Math.max(0, now - letter.firstAttempt)),
      align: "right",
    },
    first: { title: "FIRST ATTEMPT", value: (letter) => timeText(letter.firstAttempt) },
    last: { title: "LAST ATTEMPT", value: (letter) => timeText(letter.lastAttempt) },
    reason: { title: "REASON", value: (letter) => letter.reason, cutTo: 16 },
    pattern: { title: "PATTERN", value: (letter) => letter.errorPattern, cutTo: 20 },
    data: { title: "DATA", value: (letter) => dataText(letter.itemData), cutTo: 10 },
    error: {
      title: "ERROR",
      value: (letter) => (isTerminal ? withoutData(errorText(letter), letter.itemData) : errorText(letter)),
      cutTo: 16,
    },
    where: { title: "WHERE", value: whereText, cutTo: 16 },
    message: { title: "MESSAGE", value: (letter) => last(letter)?.errorMessage ?? "", cutTo: 16 },
  };
}

function errorText({ failureHistory }: Letter): string {
  const last = failureHistory.at(-1);
  return last === undefined ? "" : failureTitle(last).title;
}

function whereText({ failureHistory }: Letter): string {
  const last = failureHistory.at(-1);
  return last === undefined ? "" : locationText(failureTitle(last).location);
}

/** A letter whose item is done is called resolved. */
export function stateWord({ state }: Letter): string {
  return state === "done" ? "resolved" : state;
}

function typeText(letter: Letter): string {
  const name = letter.failureHistory.at(-1)?.errorType.name ?? "";
  const remark = letter.state === "dead" ? remarkOf(letter) : stateWord(letter);
  return remark === "" ? name : `${name} (${remark})`;
}

function remarkOf({ poison, manualReviewRequired, reprocessEligible }: Letter): string {
  if (poison) return "poison";
  if (manualReviewRequired) return "needs a person";
  return reprocessEligible ? "" : "not eligible";
}

function timeText(ms: number): string {
  return toRfc3339(ms).slice(0, 19).replace("T", " ");
}

interface Named {
  readonly itemId: string;
  readonly itemData: Json;
}

/** The data as text: a string as it is, the fields of an object as `key=value`. */
export function dataText(data: Json): string {
  if (!isJsonObject(data)) return valueText(data);
  return Object.entries(data)
    .map(([key, value]) => `${key}=${valueText(value)}`)
    .join(" ");
}

function valueText(value: Json): string {
  return typeof value === "string" ? value : stringifyJson(value);
}

/** Whether the id is a part of the data, such as an order number: then it names the item. */
export function isNamedById({ itemId, itemData }: Named): boolean {
  return !isGeneratedId(itemId) && dataText(itemData).includes(itemId);
}

const NAME_DATA_COLUMNS_MIN = 8;

/**
 * `src/a.ts (7h2k9m4x)`, or the id alone where it names the item. In few columns the data is shortened; null when there is
 * no room for it.
 */
export function letterName(
  letter: Named,
  { idOf, columns }: { readonly idOf: (itemId: string) => string; readonly columns: number },
): string | null {
  const id = clean(idOf(letter.itemId));
  if (isNamedById(letter)) return width(id) <= columns ? id : null;
  const room = columns - width(id) - 3;
  return room < NAME_DATA_COLUMNS_MIN ? null : `${shorten(dataText(letter.itemData), room)} (${id})`;
}

/** Shorter values may be a part of any word. */
const VALUE_CHARS_MIN = 6;

/** A text of an item without the item's own values: each is replaced with an ellipsis. */
export function withoutData(text: string, data: Json): string {
  const values = isJsonObject(data) ? Object.values(data) : [data];
  const shown = values
    .filter((value) => typeof value === "string")
    .filter(({ length }) => length >= VALUE_CHARS_MIN);
  return shown.reduce((rest, value) => (rest === value ? rest : rest.replaceAll(value, "…")), text);
}

/** Shows a name in its short form. */
export type Shorten = (name: string) => string;

const LENGTH_MIN = 8;
/** A longer list shows whole names, so that it costs no query for each row. */
const NAMES_MAX = 100;

/** For ids that were made from the content of the item. */
export function shortIds(engine: Engine, ids: readonly string[]): Promise<Shorten> {
  return shortNames(ids.filter(isGeneratedId), async (prefix) => {
    const found = await engine.findItems(prefix, { limit: LIKE_NAMES_MAX });
    return found.map(({ itemId }) => itemId);
  });
}

export function shortSignatures(engine: Engine, signatures: readonly string[]): Promise<Shorten> {
  return shortNames(signatures, async (prefix) => {
    const found = await engine.listMarks({ prefix });
    return found.map(({ signature }) => signature);
  });
}

/** Where so many names begin alike, the whole name is shown. */
const LIKE_NAMES_MAX = 20;

async function shortNames(
  names: readonly string[],
  namesWith: (prefix: string) => Promise<readonly string[]>,
): Promise<Shorten> {
  const wanted = [...new Set(names)];
  const short = new Map<string, string>();
  for (const name of wanted.length > NAMES_MAX ? [] : wanted) {
    const alike = await namesWith(name.slice(0, LENGTH_MIN));
    if (alike.length < LIKE_NAMES_MAX) short.set(name, uniquePrefix(name, alike));
  }
  return (name) => short.get(name) ?? name;
}

/** The shortest beginning that no other of the names has; the whole name when another one begins with it. */
function uniquePrefix(name: string, names: readonly string[]): string {
  const others = names.filter((other) => other !== name);
  for (let length = LENGTH_MIN; length < name.length; length += 1) {
    const prefix = name.slice(0, length);
    if (!others.some((other) => other.startsWith(prefix))) return prefix;
  }
  return name;
}
