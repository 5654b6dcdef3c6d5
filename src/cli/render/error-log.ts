/** Renders the error log as a table, and one entry as a line. */
import type { ErrorEntry } from "../../item/error-log.ts";
import { originOf } from "../../queue/error-log.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { type FailureTitle, failureTitle, groupTitle } from "../../triage/title.ts";
import { shareFacts, tableBelow, titleFacts } from "./failures.ts";
import type { Shorten } from "./letter-list.ts";
import { clean, type Screen } from "./paint.ts";
import { secondText } from "./words.ts";

/** Shows facts common to all entries as a heading. The other columns shrink in favour of the error line. */
export function errorTable(
  errors: readonly ErrorEntry[],
  { paint, columns, idOf = (id) => id }: Screen & { readonly idOf?: Shorten },
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
