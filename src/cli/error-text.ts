/** The error log as a table for people, and the command for its next page. */
import type { ErrorEntry } from "../item/error-entry.ts";
import { toRfc3339 } from "../kit/clock.ts";
import { originOf } from "../watch/error-log.ts";
import type { ErrorFlags } from "./error-query.ts";
import { clean, type Paint } from "./paint.ts";
import { shellWord } from "./summary-text.ts";
import { type Column, table } from "./table.ts";

export interface ErrorView {
  readonly paint: Paint;
  readonly columns: number;
}

/** The message says most, so the others make room for it. */
export function errorTable(errors: readonly ErrorEntry[], { paint, columns }: ErrorView): string {
  return table(errors, columnsOf(errors, paint), columns);
}

/** One entry as a line, for who follows the log. */
export function errorLine(entry: ErrorEntry, { paint }: ErrorView): string {
  const { itemId, attempt, queue = "", message } = entry;
  const where = [itemId, attempt === undefined ? undefined : `#${attempt}`].filter((part) => part).join(" ");
  const told = [queue, where, typeOf(entry), message].map(clean);
  const parts = [paint.dim(toRfc3339(entry.at)), ...told];
  return `${parts.filter(Boolean).join("  ")}\n`;
}

function columnsOf(errors: readonly ErrorEntry[], paint: Paint): readonly Column<ErrorEntry>[] {
  const queues = new Set(errors.map(({ queue }) => queue));
  const time = timesOf(errors);
  const all: readonly (Column<ErrorEntry> | false)[] = [
    { title: "TIME", value: ({ at }) => time(at), paint: (cell) => paint.dim(cell), giveUp: 2 },
    queues.size > 1 && { title: "QUEUE", value: ({ queue }) => queue ?? "", cutTo: 12, giveUp: 1 },
    { title: "ITEM", value: ({ itemId }) => itemId ?? "", paint: (cell) => paint.bold(cell), cutTo: 12 },
    {
      title: "TRY",
      value: ({ attempt }) => (attempt === undefined ? "" : String(attempt)),
      align: "right",
      giveUp: 3,
    },
    { title: "TYPE", value: typeOf, cutTo: 13, paint: (cell, entry) => tint(cell, entry, paint) },
    { title: "MESSAGE", value: ({ message }) => message, cutTo: 20 },
  ];
  return all.filter((column) => column !== false);
}

function tint(cell: string, entry: ErrorEntry, paint: Paint): string {
  return originOf(entry) === "runner" ? paint.yellow(cell) : cell;
}

/** An error of the runner has no type of the work's: who reads it looks at the machine, not at the item. */
function typeOf(entry: ErrorEntry): string {
  const type = entry.failure?.errorType.name ?? entry.errorType;
  return type ?? (originOf(entry) === "runner" ? "(runner)" : "");
}

/** Without the year, where all are of the same one. */
function timesOf(errors: readonly ErrorEntry[]): (at: number) => string {
  const text = (at: number) => toRfc3339(at).slice(0, 19).replace("T", " ");
  const years = new Set(errors.map(({ at }) => text(at).slice(0, 4)));
  return years.size > 1 ? text : (at) => text(at).slice(5);
}

const WORDS = ["queue", "item", "origin", "since", "limit"] as const;

/** What to type for the page after this one. */
export function nextErrorsCommand(flags: ErrorFlags, cursor: number): string {
  const given = WORDS.flatMap((name) =>
    [flags[name] ?? []].flat().map((value) => [`--${name}`, value] as const),
  );
  const words = given.flatMap(([option, value]) =>
    option === "--limit" && value === "20" ? [] : [option, shellWord(value) ?? JSON.stringify(value)],
  );
  return ["redrive", "errors", ...words, "--cursor", String(cursor)].join(" ");
}
