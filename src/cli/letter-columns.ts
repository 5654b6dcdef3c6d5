/** What a table of letters can show, by name. */
import { WorkError } from "../errors.ts";
import type { Letter } from "../item/letter.ts";
import { toRfc3339 } from "../kit/clock.ts";
import { formatDuration } from "../kit/duration.ts";
import { asText } from "../kit/json.ts";
import { nearest } from "../kit/nearest.ts";
import { words } from "./list-words.ts";
import { fit, type Paint } from "./paint.ts";
import type { Column } from "./table.ts";

/** What the columns need to know besides the letter. */
export interface ColumnView {
  readonly paint: Paint;
  readonly now: number;
}

type Columns = Readonly<Record<string, Column<Letter>>>;

/** The columns that were asked for, in that order; `all` is every one. An unknown name is an error that lists them. */
export function columnsFor(names: readonly string[], view: ColumnView): readonly Column<Letter>[] {
  const known = everyColumn(view);
  return words(names).flatMap((given) => {
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

/** The message says most, so what would only repeat itself, or does not fit, makes room for it. */
export function usualColumns(
  letters: readonly Letter[],
  { withJob, ...view }: ColumnView & { readonly withJob: boolean },
): readonly Column<Letter>[] {
  const known = everyColumn(view);
  const isTelling = letters.some((letter) => !asText(letter.itemData).includes(letter.itemId));
  return [
    known.item,
    withJob && known.job && { ...known.job, giveUp: 2 },
    known.attempts && { ...known.attempts, giveUp: 4 },
    known.died && { ...known.died, giveUp: 3 },
    known.type,
    isTelling && known.data && { ...known.data, giveUp: 1 },
    known.message,
  ].filter((column): column is Column<Letter> => typeof column === "object");
}

const DATA_WIDTH_MAX = 24;

function everyColumn({ paint, now }: ColumnView): Columns {
  const last = (letter: Letter) => letter.failureHistory.at(-1);
  const number = (title: string, value: (letter: Letter) => number): Column<Letter> => ({
    title,
    value: (letter) => String(value(letter)),
    align: "right",
  });
  return {
    item: { title: "ITEM", value: (letter) => letter.itemId, paint: paint.bold, cutTo: 16 },
    job: { title: "JOB", value: (letter) => letter.jobId, cutTo: 14 },
    state: { title: "STATE", value: (letter) => stateWord(letter) },
    attempts: number("TRIES", (letter) => letter.failureCount),
    died: {
      title: "DIED",
      value: (letter) => `${formatDuration(Math.max(0, now - letter.lastAttempt))} ago`,
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
    data: { title: "DATA", value: (letter) => fit(asText(letter.itemData), DATA_WIDTH_MAX), cutTo: 10 },
    message: { title: "MESSAGE", value: (letter) => last(letter)?.errorMessage ?? "", cutTo: 16 },
  };
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

function remarkOf({ toxic, manualReviewRequired, reprocessEligible }: Letter): string {
  if (toxic) return "toxic";
  if (manualReviewRequired) return "needs a person";
  return reprocessEligible ? "" : "not eligible";
}

function timeText(ms: number): string {
  return toRfc3339(ms).slice(0, 19).replace("T", " ");
}
