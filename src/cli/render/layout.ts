/**
 * Renders tables, lists of failures, and details. On a narrow terminal, columns shrink or are dropped, and cells are shortened
 * so that they remain distinguishable. Without a width limit nothing is cut.
 */

import { type FailureTitle, groupTitle, locationParts } from "../../triage/title.ts";
import type { Context } from "../context.ts";
import { clean, commandLine, fit, type Screen, shorten, shortenApart, thousands, width } from "./text.ts";

export interface Column<Row> {
  readonly title: string;
  /** The cell's content. Numbers are right-aligned; null and undefined become an empty cell. */
  readonly value: (row: Row) => string | number | null | undefined;
  readonly align?: "right";
  /** Adds colours after the cell was padded or cut. */
  readonly paint?: (cell: string, row: Row) => string;
  /** The minimum width after cutting. Default: only the last column is cut. */
  readonly cutTo?: number;
  /** Columns with the highest number are dropped first if there is no room. Default: never dropped. */
  readonly giveUp?: number;
}

const GAP = "  ";
const LAST_WIDTH_MIN = 20;

export function table<Row>(
  rows: readonly Row[],
  columns: readonly (Column<Row> | false | undefined)[],
  widthMax: number,
): string {
  const wanted = columns.filter((column) => typeof column === "object");
  const measured = wanted.map((column, index) => measure(rows, column, index === wanted.length - 1));
  const sized = layOut(measured, widthMax);
  const texts = new Map(sized.map((one) => [one, cellTexts(one, widthMax)]));
  const line = (cell: (one: Sized<Row>) => string) => `${sized.map(cell).join(GAP).trimEnd()}\n`;
  const body = rows.map((row, index) =>
    line((one) => {
      const cell = padded(one, texts.get(one)?.[index] ?? "");
      return one.column.paint ? one.column.paint(cell, row) : cell;
    }),
  );
  return line((one) => padded(one, fit(one.column.title, one.width))) + body.join("");
}

interface Sized<Row> {
  readonly column: Column<Row>;
  readonly values: readonly string[];
  readonly isRight: boolean;
  readonly least: number;
  readonly width: number;
}

function cellTexts<Row>({ values, width: own }: Sized<Row>, widthMax: number): readonly string[] {
  return Number.isFinite(widthMax) ? shortenApart(values, own) : values.map(clean);
}

/** Limits the padding, so that one long cell does not push the other rows out of sight. */
const PADDING_MAX = 100;

function padded<Row>({ isRight, width: own }: Sized<Row>, text: string): string {
  const space = " ".repeat(Math.max(0, Math.min(own, PADDING_MAX) - width(text)));
  return isRight ? space + text : text + space;
}

/** Gives each column its minimum width and shares the rest fairly, so that a wide column does not take all of it. */
function layOut<Row>(wanted: readonly Sized<Row>[], widthMax: number): readonly Sized<Row>[] {
  const shown = giveUp(wanted, widthMax);
  let room = Math.max(0, widthMax - leastOf(shown));
  const widths = new Map<Sized<Row>, number>();
  const modestFirst = [...shown].sort((a, b) => a.width - a.least - (b.width - b.least));
  for (const [index, one] of modestFirst.entries()) {
    const share = Math.floor(room / (modestFirst.length - index));
    const more = Math.min(one.width - one.least, share);
    widths.set(one, one.least + more);
    room -= more;
  }
  return shown.map((one) => ({ ...one, width: widths.get(one) ?? one.least }));
}

function measure<Row>(rows: readonly Row[], column: Column<Row>, isLast: boolean): Sized<Row> {
  const given = rows.map(column.value);
  const values = given.map((value) => (typeof value === "number" ? thousands(value) : (value ?? "")));
  const own = values.reduce((most, value) => Math.max(most, width(value)), width(column.title));
  const isRight = column.align === "right" || given.some((value) => typeof value === "number");
  const least = column.cutTo ?? (isLast ? LAST_WIDTH_MIN : own);
  return { column, values, isRight, width: own, least: Math.min(own, least) };
}

function giveUp<Row>(wanted: readonly Sized<Row>[], widthMax: number): readonly Sized<Row>[] {
  let shown = wanted;
  while (leastOf(shown) > widthMax) {
    const first = Math.max(...shown.map(({ column }) => column.giveUp ?? 0));
    if (first === 0) break;
    shown = shown.filter(({ column }) => column.giveUp !== first);
  }
  return shown;
}

function leastOf<Row>(shown: readonly Sized<Row>[]): number {
  return shown.reduce((sum, { least }) => sum + least, GAP.length * (shown.length - 1));
}

/** Returns the command for the next page: the same words with another cursor. Empty on the last page. */
export function nextPageText(
  { paint, words }: Pick<Context, "paint" | "words">,
  cursor: string | null,
): string {
  if (cursor === null) return "";
  const same = words.filter((word, at) => !word.startsWith("--cursor") && words[at - 1] !== "--cursor");
  return `${paint.dim("Next page:")} ${paint.cyan(commandLine([...same, "--cursor", cursor]))}\n`;
}

/** A name and its value. Facts without a value are not shown. */
export type Fact = readonly [name: string, value: string | undefined];

export interface Section {
  readonly title: string;
  readonly note?: string;
  readonly facts?: readonly Fact[];
  /** Lines that are already cleaned and cut to width. */
  readonly lines?: readonly string[];
  readonly next?: readonly Step[];
}

export type Step = readonly [command: string, purpose?: string];

export function detailsText(sections: readonly Section[], screen: Screen): string {
  return sections
    .map((section) => ({ ...section, body: bodyOf(section, screen) }))
    .filter(({ body, facts }) => body !== "" || facts !== undefined)
    .map(({ title, note = "", body }) => `${screen.paint.bold(title)}${note}\n${body}`)
    .join("\n");
}

function bodyOf({ facts = [], lines = [], next = [] }: Section, screen: Screen): string {
  const all = [...lines, ...stepLines(next, screen)];
  return factLines(facts, screen) + all.map((line) => `  ${line}\n`).join("");
}

/** The maximum number of lines for a value, which may be a long message. */
const FACT_LINES_MAX = 3;
const NAME_WIDTH_MIN = 9;

export function factLines(facts: readonly Fact[], { paint, columns }: Screen): string {
  const given = facts.filter(([, value]) => value !== undefined && value !== "");
  const widest = Math.max(NAME_WIDTH_MIN, ...given.map(([name]) => name.length));
  const line = ([name, value = ""]: Fact) =>
    `  ${paint.dim(name.padEnd(widest))} ${fit(value, columns * FACT_LINES_MAX)}\n`;
  return given.map(line).join("");
}

/** Commands are never cut, so that they can be copied; their purposes are omitted if there is no room. */
export function stepLines(steps: readonly Step[], { paint, columns }: Screen): readonly string[] {
  const widest = Math.max(0, ...steps.map(([command]) => width(command)));
  const longest = Math.max(0, ...steps.map(([, purpose = ""]) => width(purpose)));
  const isRoomBeside = 2 + widest + 3 + longest <= columns;
  return steps.map(([command, purpose]) => {
    const space = " ".repeat(widest - width(command) + 3);
    return paint.cyan(command) + (purpose !== undefined && isRoomBeside ? space + paint.dim(purpose) : "");
  });
}

export function titleOf(name: string, status = ""): Pick<Section, "title" | "note"> {
  return { title: clean(name), ...(status !== "" && { note: `  ${status}` }) };
}

/** The facts of one row, most general first: type, command, exit code. Empty facts are not shown. */
export type Facts = readonly string[];

/** Splits facts into a shared heading, e.g. `CommandFailed · curl · exit 22`, and the remaining facts of each row. */
export function shareFacts(rows: readonly Facts[]): { heading: string; own: readonly string[] } {
  const [first = []] = rows;
  const differsAt = first.findIndex((fact, position) => rows.some((facts) => facts[position] !== fact));
  const shared = differsAt < 0 ? first.length : differsAt;
  const own = rows.map((facts) => joinFacts(facts.slice(shared)));
  return { heading: joinFacts(first.slice(0, shared)), own };
}

/** Returns type, command, exit status, step and stack frames. */
export function titleFacts({ type, location }: FailureTitle): Facts {
  return [type, ...locationParts(location)];
}

export function joinFacts(facts: Facts): string {
  return facts.filter(Boolean).join(" · ");
}

export function tableBelow<Row>(
  heading: string,
  rows: readonly Row[],
  { cells, paint, columns }: Screen & { cells: readonly (Column<Row> | false | undefined)[] },
): string {
  const text = table(rows, cells, columns);
  return heading === "" ? text : `${paint.bold(shorten(heading, columns))}\n${text}`;
}

/** Collects groups under headings, ordered by the first group of each. Groups that users named have no heading. */
export function groupSections<Group extends { readonly pattern: string }>(
  groups: readonly Group[],
  { headingColumns, titleColumns }: { headingColumns: number; titleColumns: number },
) {
  const byHeading = new Map<string, { group: Group; title: string }[]>();
  for (const group of groups) {
    const found = groupTitle(group.pattern);
    const heading = joinFacts(titleFacts(found));
    byHeading.set(heading, [...(byHeading.get(heading) ?? []), { group, title: found.title }]);
  }
  const headings = shortenApart([...byHeading.keys()], headingColumns);
  return [...byHeading.values()].map((rows, index) => {
    const all = rows.map(({ title }) => title);
    const titles = shortenApart(all, titleColumns);
    return {
      heading: headings[index] ?? "",
      rows: rows.map(({ group }, at) => ({ group, title: titles[at] ?? "" })),
    };
  });
}

/** The width that the title column keeps; other columns are dropped first. */
const TITLE_COLUMNS = 40;
const TITLE_COLUMNS_MIN = 34;
const ROOMY_COLUMNS = 90;
const WHERE_COLUMNS_MIN = 16;

export function groupTable<Group extends { readonly pattern: string }>(
  groups: readonly Group[],
  before: readonly Column<Group>[],
  { paint, columns }: Screen,
): string {
  const titles = groups.map(({ pattern }) => groupTitle(pattern));
  const { heading, own } = shareFacts(titles.map(titleFacts));
  const isAmbiguous = new Set(titles.map(({ title }) => title)).size < titles.length;
  const rows = groups.map((group, index) => ({
    group,
    where: own[index] ?? "",
    title: titles[index]?.title ?? "",
  }));
  type Row = (typeof rows)[number];
  const cells: readonly (Column<Row> | false)[] = [
    ...before.map(({ value, paint: tint, ...column }) => ({
      ...column,
      value: ({ group }: Row) => value(group),
      ...(tint && { paint: (cell: string, { group }: Row) => tint(cell, group) }),
    })),
    {
      title: "ERROR",
      value: ({ title, where }) => (isAmbiguous && where !== "" ? `${title} (${where})` : title),
      cutTo: columns >= ROOMY_COLUMNS ? TITLE_COLUMNS : TITLE_COLUMNS_MIN,
    },
    !isAmbiguous &&
      own.some(Boolean) && {
        title: "WHERE",
        value: ({ where }: Row) => where,
        paint: paint.dim,
        cutTo: WHERE_COLUMNS_MIN,
        giveUp: 1,
      },
  ];
  return tableBelow(heading, rows, { cells, paint, columns });
}
