/** `redrive errors`: prints the error log of all queues, as a table or line by line. */
import type { Engine } from "../../engine.ts";
import { ERROR_ORIGINS, type ErrorEntry } from "../../item/error-log.ts";
import type { Item } from "../../item/item.ts";
import {
  type ErrorLogQuery,
  type ErrorPage,
  errorToBody,
  errorToJson,
  followErrors,
  originOf,
  readErrors,
} from "../../queue/error-log.ts";
import { requireItem } from "../../queue/find-item.ts";
import { requireJob } from "../../queue/find-job.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { compact, type Json, type JsonObject, stringifyJson } from "../../std/json.ts";
import { type FailureTitle, failureTitle, groupTitle } from "../../triage/title.ts";
import { command, type Given } from "../command.ts";
import type { Context } from "../context.ts";
import { conflict, EXIT } from "../exit-code.ts";
import { choice, count, duration, flag, limit, list, withDefault, word } from "../options.ts";
import { nextPageText, shareFacts, tableBelow, titleFacts } from "../render/layout.ts";
import { type Shorten, shortIds } from "../render/letter-list.ts";
import { clean, type Screen, secondText } from "../render/text.ts";
import { untilInterrupted } from "../signals.ts";

const FORMATS = ["table", "json", "error-body"] as const;

const options = {
  queues: list("--queue <queues>", "errors of these queues or jobs (default: all)"),
  item: word("--item <item>", "errors of this item: an id or a unique prefix"),
  origin: choice("--origin <origin>", "errors of the items, or of the runner itself", ERROR_ORIGINS),
  sinceMs: duration("--since <duration>", "only errors from this last period, e.g. 10m"),
  limit,
  before: count("--cursor <cursor>", "continue after this cursor: the `next` value of the previous page", 1),
  follow: flag("--follow", "print oldest first, and keep printing; with JSON one object per line"),
  format: withDefault(
    choice("--format <format>", "the output format; error-body is for Power Automate", FORMATS),
    "table",
  ),
};

type ErrorFlags = Given<typeof options>;

const errors = command({
  summary: "Print the error log: every failure of every queue, and the runner's own errors, newest first.",
  examples: [
    "redrive errors --since 1h",
    "redrive errors --queue orders --follow",
    "redrive errors --format error-body",
  ],
  options,
  run: (context, flags) => {
    if (flags.follow && flags.before !== undefined) throw conflict("--cursor", "--follow");
    return context.withStore(
      async (engine) => {
        const query = await queryFrom(engine, flags);
        if (flags.follow) return follow(context, engine, { query, document: documentOf(context, flags) });
        const page = await readErrors(engine, query);
        const ids = context.isTerminal ? page.errors.flatMap(({ itemId }) => itemId ?? []) : [];
        context.terminal.stdout.write(pageText(context, { flags, page, idOf: await shortIds(engine, ids) }));
        return EXIT.done;
      },
      { mustExist: flags.follow },
    );
  },
});

export const commands = { errors };

/**
 * Treats an unknown queue or item as an error, because an empty result would suggest that there are no
 * errors.
 */
async function queryFrom(engine: Engine, flags: ErrorFlags): Promise<ErrorLogQuery> {
  const named: string[] = [];
  for (const name of flags.queues ?? []) named.push((await requireJob(engine, name)).id);
  const isNamed = (item: Item) => named.length === 0 || named.includes(item.queue);
  const only = named.length === 1 ? named[0] : undefined;
  const item = flags.item === undefined ? undefined : await requireItem(engine, flags.item, only, isNamed);
  const queues = item === undefined ? named : [item.queue];
  return compact({
    limit: flags.limit,
    before: flags.before,
    queues: queues.length === 0 ? undefined : queues,
    itemId: item?.itemId,
    origin: flags.origin,
    since: flags.sinceMs === undefined ? undefined : (await engine.now()) - flags.sinceMs,
  });
}

type ToDocument = (entry: ErrorEntry) => JsonObject;

/** Returns the JSON converter for the output format, or undefined for a table. */
function documentOf({ isJson }: Context, { format }: ErrorFlags): ToDocument | undefined {
  if (format === "error-body") return errorToBody;
  return isJson || format === "json" ? errorToJson : undefined;
}

async function follow(
  context: Context,
  engine: Engine,
  { query, document }: { query: ErrorLogQuery; document: ToDocument | undefined },
): Promise<number> {
  const { stdout } = context.terminal;
  return untilInterrupted(async ({ signal: stop }) => {
    for await (const entry of followErrors(engine, query, { stop })) {
      if (!stdout.writable) break; // the reader closed the pipe
      stdout.write(document ? `${stringifyJson(document(entry))}\n` : errorLine(entry, context));
    }
    return EXIT.done;
  });
}

function pageText(
  context: Context,
  { flags, page, idOf }: { flags: ErrorFlags; page: ErrorPage; idOf: Shorten },
): string {
  const { errors: found, next } = page;
  const { paint, columns } = context;
  const document = documentOf(context, flags);
  const cursor = next === null ? null : String(next);
  if (document === errorToBody) return jsonText(found.map(document));
  if (document !== undefined) return jsonText({ errors: found.map(document), next: cursor });
  if (found.length === 0) return "No errors.\n";
  return errorTable(found, { paint, columns, idOf }) + nextPageText(context, cursor);
}

function jsonText(document: Json): string {
  return `${stringifyJson(document, 2)}\n`;
}

/** Shows facts common to all entries as a heading. The other columns shrink in favour of the error line. */
export function errorTable(
  errors: readonly ErrorEntry[],
  { paint, columns, idOf = (id) => id }: Screen & { idOf?: Shorten },
): string {
  const titles = errors.map(titleOf);
  const { heading, own } = shareFacts(titles.map(titleFacts));
  const rows = errors.map((entry, index) => ({
    ...entry,
    title: titles[index]?.title,
    where: own[index] ?? "",
    time: secondText(entry.at),
  }));
  const isOneYear = new Set(rows.map(({ time }) => time.slice(0, 4))).size <= 1;
  type Row = (typeof rows)[number];
  const item = ({ itemId }: Row) => itemId && idOf(itemId);
  return tableBelow(heading, rows, {
    paint,
    columns,
    cells: [
      { title: "TIME", value: ({ time }) => time.slice(isOneYear ? 5 : 0), paint: paint.dim, giveUp: 3 },
      new Set(errors.map(({ queue }) => queue)).size > 1 && {
        title: "QUEUE",
        value: ({ queue }: Row) => queue,
        cutTo: 12,
        giveUp: 1,
      },
      { title: "ITEM", value: item, paint: paint.bold, cutTo: 12 },
      { title: "TRY", value: ({ attempt }) => attempt, align: "right", giveUp: 4 },
      own.some(Boolean) && {
        title: "WHERE",
        value: ({ where }: Row) => where,
        cutTo: 20,
        giveUp: 2,
        paint: (cell: string, row: Row) => (originOf(row) === "runner" ? paint.yellow(cell) : cell),
      },
      { title: "ERROR", value: ({ title }) => title, cutTo: 30 },
    ],
  });
}

/** Formats one entry as a line for `--follow`. */
export function errorLine(entry: ErrorEntry, { paint }: Screen): string {
  const { itemId, attempt, queue = "", message } = entry;
  const where = [itemId, attempt === undefined ? undefined : `#${attempt}`].filter(Boolean).join(" ");
  const parts = [paint.dim(toRfc3339(entry.at)), ...[queue, where, typeOf(entry), message].map(clean)];
  return `${parts.filter(Boolean).join("  ")}\n`;
}

/** Titles an entry. Errors of the runner and of purged items have only a message. */
function titleOf(entry: ErrorEntry): FailureTitle {
  if (entry.failure) return failureTitle(entry.failure);
  const { title, location } = groupTitle(entry.message);
  return { type: typeOf(entry), title, location };
}

/** Errors of the runner have no type, because their cause is the machine and not the item. */
function typeOf(entry: ErrorEntry): string {
  const type = entry.failure?.errorType.name ?? entry.errorType;
  return type ?? (originOf(entry) === "runner" ? "(runner)" : "");
}
