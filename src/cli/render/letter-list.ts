/** Defines the columns of letter lists, and shortens the names of letters and groups. */
import type { Engine } from "../../engine.ts";
import { isGeneratedId } from "../../intake/identity.ts";
import type { Letter } from "../../item/letter.ts";
import { stateWord } from "../../redrive/select.ts";
import { formatDuration } from "../../std/duration.ts";
import { isJsonObject, type Json, stringifyJson } from "../../std/json.ts";
import { failureTitle, locationText } from "../../triage/title.ts";
import { splitWords, unknownValue } from "../options.ts";
import { type Column, type Facts, shareFacts, titleFacts } from "./layout.ts";
import { agoText, clean, type Paint, secondText, shorten, width } from "./text.ts";

export interface ColumnView {
  readonly paint: Paint;
  readonly now: number;
  /** On a terminal, the error line omits the item's data, because another column shows it. Default false. */
  readonly isTerminal?: boolean;
  /** Shortens an item's id. Default: the whole id is shown. */
  readonly idOf?: Shorten;
}

/** Returns the named columns in order; `all` means every column. Throws for an unknown name. */
export function columnsFor(names: readonly string[], view: ColumnView): readonly Column<Letter>[] {
  const known: Readonly<Record<string, Column<Letter>>> = everyColumn(view);
  return splitWords(names).flatMap((given) => {
    const word = given.toLowerCase();
    if (word === "all") return Object.values(known);
    const column = Object.hasOwn(known, word) ? known[word] : undefined;
    if (column !== undefined) return [column];
    throw unknownValue("--columns", word, [...Object.keys(known), "all"], { noun: "column" });
  });
}

/** Returns a heading of shared facts and the default columns. Other columns shrink in favour of data and error line. */
export function usualColumns(
  letters: readonly Letter[],
  { withJob, ...view }: ColumnView & { withJob: boolean },
): { heading: string; columns: readonly (Column<Letter> | false)[] } {
  const { item, data, job, attempts, died, error, where } = everyColumn(view);
  const { heading, own } = shareFacts(letters.map(factsOf));
  const whereOf = new Map(letters.map((letter, index) => [letter, own[index]]));
  const isNamed = letters.every(isNamedById);
  return {
    heading,
    columns: [
      !isNamed && { ...data, paint: view.paint.bold, cutTo: DATA_COLUMNS_MIN },
      isNamed ? item : { title: item.title, value: item.value, giveUp: 4 },
      withJob && { ...job, giveUp: 1 },
      { ...attempts, giveUp: 6 },
      { ...died, giveUp: 5 },
      own.some(Boolean) && { ...where, value: (letter) => whereOf.get(letter), cutTo: 20, giveUp: 2 },
      { ...error, cutTo: ERROR_COLUMNS_MIN },
    ],
  };
}

const DATA_COLUMNS_MIN = 20;
const ERROR_COLUMNS_MIN = 30;

/** Returns type, location, and a remark if the letter is not simply waiting for a retry. */
function factsOf(letter: Letter): Facts {
  const last = letter.failureHistory.at(-1);
  const facts = last === undefined ? ["", "", "", "", ""] : titleFacts(failureTitle(last));
  return [...facts, remarkOf(letter)];
}

function everyColumn({ paint, now, isTerminal, idOf = (id) => id }: ColumnView) {
  const last = (letter: Letter) => letter.failureHistory.at(-1);
  const exitText = (letter: Letter) => last(letter)?.exitCode ?? last(letter)?.signal;
  const ageText = ({ firstAttempt }: Letter) => formatDuration(Math.max(0, now - firstAttempt));
  const columns = {
    item: { title: "ITEM", value: ({ itemId }) => idOf(itemId), paint: paint.bold, cutTo: 16 },
    job: { title: "JOB", value: ({ jobId }) => jobId, cutTo: 14 },
    state: { title: "STATE", value: ({ state }) => stateWord(state) },
    attempts: { title: "TRIES", value: ({ failureCount }) => failureCount },
    died: { title: "DIED", value: ({ lastAttempt }) => agoText(now - lastAttempt), align: "right" },
    type: { title: "TYPE", value: typeText, cutTo: 13 },
    class: { title: "CLASS", value: (letter) => last(letter)?.errorClass },
    group: { title: "GROUP", value: ({ errorSignature }) => errorSignature },
    step: { title: "STEP", value: (letter) => last(letter)?.stepFailed, cutTo: 16 },
    exit: { title: "EXIT", value: exitText, align: "right" },
    redrives: { title: "REDRIVES", value: ({ redriveCount }) => redriveCount },
    revision: { title: "REVISION", value: ({ revision }) => revision },
    notes: { title: "NOTES", value: ({ notes = [] }) => notes.length },
    eligible: { title: "ELIGIBLE", value: ({ reprocessEligible }) => (reprocessEligible ? "yes" : "no") },
    age: { title: "AGE", value: ageText, align: "right" },
    first: { title: "FIRST ATTEMPT", value: ({ firstAttempt }) => secondText(firstAttempt) },
    last: { title: "LAST ATTEMPT", value: ({ lastAttempt }) => secondText(lastAttempt) },
    reason: { title: "REASON", value: ({ reason }) => reason, cutTo: 16 },
    pattern: { title: "PATTERN", value: ({ errorPattern }) => errorPattern, cutTo: 20 },
    data: { title: "DATA", value: ({ itemData }) => dataText(itemData), cutTo: 10 },
    error: {
      title: "ERROR",
      value: (letter) => (isTerminal ? withoutData(errorText(letter), letter.itemData) : errorText(letter)),
      cutTo: 16,
    },
    where: { title: "WHERE", value: whereText, cutTo: 16 },
    message: { title: "MESSAGE", value: (letter) => last(letter)?.errorMessage, cutTo: 16 },
  } satisfies Record<string, Column<Letter>>;
  return columns;
}

function errorText({ failureHistory }: Letter): string {
  const last = failureHistory.at(-1);
  return last === undefined ? "" : failureTitle(last).title;
}

function whereText({ failureHistory }: Letter): string {
  const last = failureHistory.at(-1);
  return last === undefined ? "" : locationText(failureTitle(last).location);
}

function typeText(letter: Letter): string {
  const name = letter.failureHistory.at(-1)?.errorType.name ?? "";
  const remark = remarkOf(letter);
  return remark === "" ? name : `${name} (${remark})`;
}

function remarkOf(letter: Letter): string {
  if (letter.state !== "dead") return stateWord(letter.state);
  if (letter.poison) return "poison";
  if (letter.manualReviewRequired) return "needs manual review";
  return letter.reprocessEligible ? "" : "not eligible";
}

interface Named {
  readonly itemId: string;
  readonly itemData: Json;
}

/** Formats data as text: a string unchanged, the fields of an object as `key=value`. */
export function dataText(data: Json): string {
  if (!isJsonObject(data)) return valueText(data);
  return Object.entries(data)
    .map(([key, value]) => `${key}=${valueText(value)}`)
    .join(" ");
}

function valueText(value: Json): string {
  return typeof value === "string" ? value : stringifyJson(value);
}

/** Whether the id occurs in the data, such as an order number, so that the id alone is a sufficient name. */
function isNamedById({ itemId, itemData }: Named): boolean {
  return !isGeneratedId(itemId) && dataText(itemData).includes(itemId);
}

const NAME_DATA_COLUMNS_MIN = 8;

/** Formats `src/a.ts (7h2k9m4x)`, or only the id if that is a sufficient name; null if there is no room. */
export function letterName(
  letter: Named,
  { idOf, columns }: { idOf: (itemId: string) => string; columns: number },
): string | null {
  const id = clean(idOf(letter.itemId));
  if (isNamedById(letter)) return width(id) <= columns ? id : null;
  const room = columns - width(id) - 3;
  return room < NAME_DATA_COLUMNS_MIN ? null : `${shorten(dataText(letter.itemData), room)} (${id})`;
}

/** Shorter values are not replaced, because they may occur in any word. */
const VALUE_CHARS_MIN = 6;

/** Replaces values of the item's data in the text with an ellipsis. */
function withoutData(text: string, data: Json): string {
  const values = isJsonObject(data) ? Object.values(data) : [data];
  const shown = values
    .filter((value) => typeof value === "string")
    .filter(({ length }) => length >= VALUE_CHARS_MIN);
  return shown.reduce((rest, value) => (rest === value ? rest : rest.replaceAll(value, "…")), text);
}

export type Shorten = (name: string) => string;

const LENGTH_MIN = 8;
/** Longer lists show whole names, to avoid a query for each row. */
const NAMES_MAX = 100;

/** Shortens ids that were generated from the item's content to unique prefixes. */
export function shortIds(engine: Engine, ids: readonly string[]): Promise<Shorten> {
  return shortNames(ids.filter(isGeneratedId), async (prefix) => {
    const found = await engine.findItems(prefix, { limit: LIKE_NAMES_MAX });
    return found.map(({ itemId }) => itemId);
  });
}

export function shortSignatures(engine: Engine, signatures: readonly string[]): Promise<Shorten> {
  return shortNames(signatures, async (prefix) => {
    const found = await engine.listGroupRecords({ prefix });
    return found.map(({ signature }) => signature);
  });
}

/** If this many names share a prefix, the whole name is shown. */
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

/** Returns the shortest unique prefix, or the whole name if another name begins with it. */
function uniquePrefix(name: string, names: readonly string[]): string {
  const others = names.filter((other) => other !== name);
  for (let length = LENGTH_MIN; length < name.length; length += 1) {
    const prefix = name.slice(0, length);
    if (!others.some((other) => other.startsWith(prefix))) return prefix;
  }
  return name;
}
