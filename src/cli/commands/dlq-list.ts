/** `redrive dlq list`: a page of letters, newest first. */
import type { LetterPage } from "../../engine.ts";
import { type Letter, letterToJson } from "../../item/letter.ts";
import { formatDuration } from "../../kit/duration.ts";
import { asText } from "../../kit/json.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { countOption } from "../option.ts";
import { filterFrom, jobFrom, type SelectionFlags } from "../selection.ts";
import { table } from "../table.ts";

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
  if (total === 0) return "No letters.\n";
  const { paint, columns } = context;
  const lines = table(
    letters,
    [
      { title: "ITEM", value: (letter) => letter.itemId, paint: (cell) => paint.bold(cell) },
      { title: "JOB", value: (letter) => letter.jobId },
      { title: "TRIES", value: (letter) => String(letter.failureCount), align: "right" },
      { title: "DIED", value: (letter) => `${formatDuration(now - letter.lastAttempt)} ago`, align: "right" },
      { title: "TYPE", value: typeOf },
      { title: "DATA", value: (letter) => asText(letter.itemData).slice(0, 30) },
      { title: "MESSAGE", value: (letter) => letter.failureHistory.at(-1)?.errorMessage ?? "" },
    ],
    columns,
  );
  const shown = `${letters.length} of ${total} ${total === 1 ? "letter" : "letters"}.`;
  const more = next === null ? "" : ` More: --cursor ${next}`;
  return `${lines}${paint.dim(`${shown}${more}`)}\n`;
}

function typeOf(letter: Letter): string {
  const review = letter.manualReviewRequired
    ? " (needs a person)"
    : letter.reprocessEligible
      ? ""
      : " (not eligible)";
  return `${letter.failureHistory.at(-1)?.errorType.name ?? ""}${letter.state === "dead" ? review : ` (${letter.state})`}`;
}
