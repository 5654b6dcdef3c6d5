/** `redrive dlq list|inspect|show`: lists letters, or shows one in detail. */

import { letterViewToJson, readLetterView } from "../../dead-letter/letter-view.ts";
import { RedriveError } from "../../errors.ts";
import { letterToJson } from "../../item/letter.ts";
import { LETTER_ORDERS, type LetterPage } from "../../item/letter-query.ts";
import { requireLetter } from "../../queue/find-item.ts";
import { readFixes } from "../../redrive/groups.ts";
import { selectPage } from "../../redrive/select.ts";
import { compact } from "../../std/json.ts";
import { argument, command, type Given } from "../command.ts";
import type { Context } from "../context.ts";
import { choice, cursor, limit, ofJob, splitWords, value, withDefault } from "../options.ts";
import { nextPageText, tableBelow } from "../render/layout.ts";
import { letterText } from "../render/letter.ts";
import { columnsFor, type Shorten, shortIds, usualColumns } from "../render/letter-list.ts";
import { lettersText, thousands } from "../render/text.ts";
import { checkSelection, isNarrowed, selectedIn, selectionOptions } from "../selection.ts";

const columns = value(
  "--columns <names>",
  "the columns, e.g. item,died,attempts,message; `all` shows every column",
  (given) => splitWords([given]),
);

const listOptions = {
  ...selectionOptions,
  sort: withDefault(choice("--sort <order>", "the order", LETTER_ORDERS), "newest"),
  columns,
  limit,
  cursor,
};

const list = command({
  summary: "List dead letters, newest first.",
  examples: [
    "redrive dlq list",
    "redrive dlq list nightly --type Timeout --older-than 2h",
    "redrive dlq list --filter 'item.size > 10' --columns item,attempts,message",
  ],
  arguments: { name: argument("[job]", "id or name (default: all jobs)") },
  options: listOptions,
  run: (context, given) => listLetters(context, given),
});

type ListFlags = Partial<Given<typeof listOptions>> & { readonly name?: string };

async function listLetters(context: Context, { name, ...flags }: ListFlags): Promise<number> {
  checkSelection(flags);
  columnsFor(flags.columns ?? [], { paint: context.paint, now: 0 }); // refuses unknown columns before the store is opened
  const { page, job, now, idOf } = await context.withStore(async (engine) => {
    const { selection, job: named } = await selectedIn(engine, name, flags);
    const { sort: order = "newest", cursor: after, limit: wanted = 20 } = flags;
    const page = { order, limit: wanted, ...compact({ cursor: after }) };
    const found = await selectPage(engine, selection, page);
    const ids = context.isTerminal ? found.letters.map(({ itemId }) => itemId) : [];
    return {
      page: found,
      job: named?.id ?? onlyJobOf(found, after),
      now: await engine.now(),
      idOf: await shortIds(engine, ids),
    };
  });
  const { letters, total, next } = page;
  return context.answer({ items: letters.map(letterToJson), total, next }, () => {
    if (total === 0) return isNarrowed(flags) ? "No letters match.\n" : "No letters.\n";
    return listText(context, page, { now, columns: flags.columns, job, idOf });
  });
}

/** Returns the job that all letters belong to; undefined if there are several jobs or pages. */
function onlyJobOf({ letters, next }: LetterPage, after: string | undefined): string | undefined {
  const jobs = new Set(letters.map((letter) => letter.jobId));
  return jobs.size === 1 && next === null && after === undefined ? letters[0]?.jobId : undefined;
}

function listText(
  context: Context,
  { letters, total, next }: LetterPage,
  shown: { now: number; columns: readonly string[] | undefined; job: string | undefined; idOf: Shorten },
): string {
  const { paint, columns, isTerminal } = context;
  const view = { paint, now: shown.now, isTerminal, idOf: shown.idOf };
  const { heading, columns: cells } = shown.columns
    ? { heading: "", columns: columnsFor(shown.columns, view) }
    : usualColumns(letters, { ...view, withJob: shown.job === undefined });
  const ofWhat = shown.job === undefined ? "" : ` of ${shown.job}`;
  const sum = `${thousands(letters.length)} of ${lettersText(total)}${ofWhat}.`;
  const list = tableBelow(heading, letters, { paint, columns, cells });
  return `${list}${paint.dim(sum)}\n${nextPageText(context, next)}`;
}

const inspect = command({
  summary: "Show a letter: data, attempts, output, log, changes, notes, and suggested next steps.",
  examples: ["redrive dlq inspect order-7", "redrive dlq inspect 7h2k --job nightly --json"],
  arguments: { item: argument("<item>", "an item id or a unique prefix") },
  options: { job: ofJob("the item's job") },
  run: (context, { item, job }) => inspectLetter(context, item, job),
});

async function inspectLetter(context: Context, item: string, job?: string): Promise<number> {
  const { view, fixes } = await context.withStore(async (engine) => {
    const letter = await requireLetter(engine, item, job);
    const found = await readLetterView(engine, letter);
    if (found === null)
      throw new RedriveError("item_not_found", `The letter ${letter.itemId} was deleted a moment ago.`);
    const { group } = found.history;
    return { view: found, fixes: group ? await readFixes(engine, group.fixes) : [] };
  });
  const { paint, columns: width } = context;
  return context.answer(letterViewToJson(view), () =>
    letterText(view.letter, { paint, columns: width, fixes, ...view }),
  );
}

const show = command({
  summary: "List the letters of a job, or show one letter.",
  examples: ["redrive dlq show nightly", "redrive dlq show order-7"],
  arguments: { name: argument("<job-or-item>", "a job id or name, or an item id") },
  options: { job: ofJob("the item's job") },
  run: async (context, { name, job }) => {
    if (job !== undefined) return inspectLetter(context, name, job);
    const found = await context.withStore((engine) => engine.findJob(name));
    return found === null ? inspectLetter(context, name) : listLetters(context, { name: found.id });
  },
});

export const commands = { list, inspect, show };
