/**
 * Renders tables. Columns are as wide as necessary. On a narrow terminal, columns shrink or are dropped, and cells are
 * shortened so that they remain distinguishable. Without a width limit nothing is cut.
 */
import type { Context } from "../context.ts";
import { clean, fit, width } from "./paint.ts";
import { shortenApart } from "./shorten.ts";
import { commandLine, thousands } from "./words.ts";

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
