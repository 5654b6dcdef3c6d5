/** The error log as a table, and one entry as a line. */
import type { ErrorEntry } from "../../item/error-log.ts";
import { originOf } from "../../queue/error-log.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { type FailureTitle, failureTitle, groupTitle } from "../../triage/title.ts";
import { shareFacts, titleFacts } from "./failures.ts";
import { clean, type Paint } from "./paint.ts";
import { shorten } from "./shorten.ts";
import { type Column, table } from "./table.ts";

export interface ErrorView {
  readonly paint: Paint;
  readonly columns: number;
  /** What an item's id is shown as. Default: all of it. */
  readonly idOf?: (itemId: string) => string;
}

/** What all entries share is a heading; the error line matters most, so the other columns make room for it. */
export function errorTable(errors: readonly ErrorEntry[], view: ErrorView): string {
  const { paint, columns } = view;
  const titles = errors.map(titleOf);
  const { heading, own } = shareFacts(titles.map(titleFacts));
  const rows = errors.map((entry, index) => ({
    entry,
    title: titles[index]?.title ?? "",
    where: own[index] ?? "",
  }));
  const text = table(rows, columnsOf(rows, view), columns);
  return heading === "" ? text : `${paint.bold(shorten(heading, columns))}\n${text}`;
}

/** One entry as a line, for who follows the log. */
export function errorLine(entry: ErrorEntry, { paint }: ErrorView): string {
  const { itemId, attempt, queue = "", message } = entry;
  const where = [itemId, attempt === undefined ? undefined : `#${attempt}`].filter((part) => part).join(" ");
  const told = [queue, where, typeOf(entry), message].map(clean);
  const parts = [paint.dim(toRfc3339(entry.at)), ...told];
  return `${parts.filter(Boolean).join("  ")}\n`;
}

interface Row {
  readonly entry: ErrorEntry;
  readonly title: string;
  /** What it does not share with the other entries. */
  readonly where: string;
}

function columnsOf(rows: readonly Row[], { paint, idOf = (id) => id }: ErrorView): readonly Column<Row>[] {
  const errors = rows.map(({ entry }) => entry);
  const queues = new Set(errors.map(({ queue }) => queue));
  const time = timesOf(errors);
  const all: readonly (Column<Row> | false)[] = [
    { title: "TIME", value: ({ entry }) => time(entry.at), paint: paint.dim, giveUp: 3 },
    queues.size > 1 && { title: "QUEUE", value: ({ entry }) => entry.queue ?? "", cutTo: 12, giveUp: 1 },
    {
      title: "ITEM",
      value: ({ entry }) => (entry.itemId === undefined ? "" : idOf(entry.itemId)),
      paint: paint.bold,
      cutTo: 12,
    },
    {
      title: "TRY",
      value: ({ entry }) => (entry.attempt === undefined ? "" : String(entry.attempt)),
      align: "right",
      giveUp: 4,
    },
    rows.some(({ where }) => where !== "") && {
      title: "WHERE",
      value: ({ where }) => where,
      cutTo: 20,
      giveUp: 2,
      paint: (cell, { entry }) => tint(cell, entry, paint),
    },
    { title: "ERROR", value: ({ title }) => title, cutTo: 30 },
  ];
  return all.filter((column) => column !== false);
}

function tint(cell: string, entry: ErrorEntry, paint: Paint): string {
  return originOf(entry) === "runner" ? paint.yellow(cell) : cell;
}

/** An entry without a failure has only its message: it is the runner's own, or the item's records were purged. */
function titleOf(entry: ErrorEntry): FailureTitle {
  if (entry.failure) return failureTitle(entry.failure);
  const { title, location } = groupTitle(entry.message);
  return { type: typeOf(entry), title, location };
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
