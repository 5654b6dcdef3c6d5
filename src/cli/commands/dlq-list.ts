/** `redrive dlq list`: a page of letters, newest first. */
import type { LetterOrder, LetterPage } from "../../engine.ts";
import { letterToJson } from "../../item/letter.ts";
import { selectPage } from "../../redrive/select.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { columnsFor, usualColumns } from "../letter-columns.ts";
import { isNarrowed, type ListWords, nextPageCommand } from "../next-page.ts";
import { countOption } from "../option.ts";
import { thousands } from "../progress-rate.ts";
import { checkSelection, jobFrom, selectionIn } from "../selection.ts";
import { type Shorten, shortIds } from "../short-names.ts";
import { shorten } from "../shorten.ts";
import { table } from "../table.ts";

export interface ListFlags extends ListWords {
  readonly sort?: LetterOrder;
}

const PAGE_DEFAULT = 20;

export async function dlqList(
  context: Context,
  jobName: string | undefined,
  flags: ListFlags,
): Promise<number> {
  checkSelection(flags);
  const limit = countOption("--limit", flags.limit, 1) ?? PAGE_DEFAULT;
  columnsFor(flags.columns ?? [], { paint: context.paint, now: 0 }); // refused before anything is read
  const { page, job, now, idOf } = await context.withStore(async (engine) => {
    const selection = await selectionIn(engine, flags);
    const found = await jobFrom(engine, jobName, flags);
    const filter = { ...selection.filter, ...(found && { queue: found.id }) };
    const { sort: order = "newest", cursor } = flags;
    const wanted = { order, limit, ...(cursor !== undefined && { cursor }) };
    const letters = await selectPage(engine, { ...selection, filter }, wanted);
    const ids = context.isTerminal ? letters.letters.map(({ itemId }) => itemId) : [];
    return {
      page: letters,
      job: found?.id ?? onlyJobOf(letters, flags),
      now: await engine.now(),
      idOf: await shortIds(engine, ids),
    };
  });
  const { letters, total, next } = page;
  context.answer({ items: letters.map(letterToJson), total, next }, () =>
    listText(context, page, { now, flags, jobName, job, idOf }),
  );
  return EXIT.done;
}

interface Shown {
  readonly now: number;
  readonly flags: ListFlags;
  readonly jobName: string | undefined;
  /** The one that all letters of the selection are of. */
  readonly job: string | undefined;
  readonly idOf: Shorten;
}

/** Known only where the page is all there is. */
function onlyJobOf({ letters, next }: LetterPage, { cursor }: ListFlags): string | undefined {
  const jobs = new Set(letters.map((letter) => letter.jobId));
  return jobs.size === 1 && next === null && cursor === undefined ? letters[0]?.jobId : undefined;
}

function listText(context: Context, { letters, total, next }: LetterPage, shown: Shown): string {
  const { paint, columns: widthMax, isTerminal } = context;
  const view = { paint, now: shown.now, isTerminal, idOf: shown.idOf };
  if (total === 0) return isNarrowed(shown.flags) ? "No letters match.\n" : "No letters.\n";
  const { columns } = shown.flags;
  const { heading, columns: cells } = columns
    ? { heading: "", columns: columnsFor(columns, view) }
    : usualColumns(letters, { ...view, withJob: shown.job === undefined });
  const above = heading === "" ? "" : `${paint.bold(shorten(heading, widthMax))}\n`;
  const ofJob = shown.job === undefined ? "" : ` of ${shown.job}`;
  const count = `${thousands(letters.length)} of ${thousands(total)} ${total === 1 ? "letter" : "letters"}${ofJob}.`;
  const more =
    next === null
      ? ""
      : `\n${paint.dim("Next page:")} ${paint.cyan(nextPageCommand(shown.jobName, shown.flags, next))}`;
  return `${above}${table(letters, cells, widthMax)}${paint.dim(count)}${more}\n`;
}
