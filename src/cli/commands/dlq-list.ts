/** `redrive dlq list`: a page of letters, newest first. */
import type { LetterPage } from "../../engine.ts";
import { type Letter, letterToJson } from "../../item/letter.ts";
import { formatDuration } from "../../kit/duration.ts";
import { asText } from "../../kit/json.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { countOption } from "../option.ts";
import { fit } from "../paint.ts";
import { filterFrom, jobFrom, type SelectionFlags } from "../selection.ts";
import { type Column, table } from "../table.ts";

export interface ListFlags extends SelectionFlags {
  readonly limit?: string;
  readonly cursor?: string;
}

const PAGE_DEFAULT = 20;

export async function dlqList(
  context: Context,
  jobName: string | undefined,
  flags: ListFlags,
): Promise<number> {
  const filter = filterFrom(flags);
  const limit = countOption("--limit", flags.limit, 1) ?? PAGE_DEFAULT;
  const { page, now } = await context.withStore(async (engine) => {
    const job = await jobFrom(engine, jobName, flags);
    const cursor = flags.cursor === undefined ? {} : { cursor: flags.cursor };
    const found = await engine.listLetters({ ...filter, ...(job && { queue: job.id }), limit, ...cursor });
    return { page: found, now: await engine.now() };
  });
  const { letters, total, next } = page;
  context.answer({ items: letters.map(letterToJson), total, next }, () => listText(context, page, now));
  return EXIT.done;
}

function listText(context: Context, { letters, total, next }: LetterPage, now: number): string {
  const { paint } = context;
  if (total === 0) return "No letters.\n";
  const shown = `${letters.length} of ${total} ${total === 1 ? "letter" : "letters"}${jobsOf(letters).size === 1 ? ` of ${letters[0]?.jobId}` : ""}.`;
  const more = next === null ? "" : ` More: --cursor ${next}`;
  return `${table(letters, columnsOf(context, letters, now), context.columns)}${paint.dim(`${shown}${more}`)}\n`;
}

/** The message says most, so what would only repeat itself makes room for it. */
function columnsOf({ paint }: Context, letters: readonly Letter[], now: number): Column<Letter>[] {
  const job: Column<Letter> = { title: "JOB", value: (letter) => letter.jobId };
  const data: Column<Letter> = { title: "DATA", value: (letter) => fit(dataOf(letter), DATA_WIDTH_MAX) };
  const isTelling = letters.some((letter) => !dataOf(letter).includes(letter.itemId));
  return [
    { title: "ITEM", value: (letter) => letter.itemId, paint: (cell) => paint.bold(cell) },
    ...(jobsOf(letters).size > 1 ? [job] : []),
    { title: "TRIES", value: (letter) => String(letter.failureCount), align: "right" },
    { title: "DIED", value: (letter) => `${formatDuration(now - letter.lastAttempt)} ago`, align: "right" },
    { title: "TYPE", value: typeOf },
    ...(isTelling ? [data] : []),
    { title: "MESSAGE", value: (letter) => letter.failureHistory.at(-1)?.errorMessage ?? "" },
  ];
}

const DATA_WIDTH_MAX = 24;

function dataOf(letter: Letter): string {
  return asText(letter.itemData);
}

function jobsOf(letters: readonly Letter[]): ReadonlySet<string> {
  return new Set(letters.map((letter) => letter.jobId));
}

function typeOf(letter: Letter): string {
  const review = letter.manualReviewRequired
    ? " (needs a person)"
    : letter.reprocessEligible
      ? ""
      : " (not eligible)";
  return `${letter.failureHistory.at(-1)?.errorType.name ?? ""}${letter.state === "dead" ? review : ` (${letter.state})`}`;
}
