/**
 * A table for people: columns as wide as they need to be. Where the terminal is too narrow, columns that can do without
 * some of their width give it, those that are nice to have are left out, and the last one is cut.
 */
import { fit, width } from "./paint.ts";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: "right";
  /** Applied after the cell has its width. */
  readonly paint?: (cell: string, row: Row) => string;
  /** May be cut to so many columns, but not further. Default: is not cut, unless it is the last. */
  readonly cutTo?: number;
  /** Left out when there is no room; the highest number first. Default: stays. */
  readonly giveUp?: number;
}

const GAP = "  ";
const LAST_WIDTH_MIN = 20;

export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], widthMax: number): string {
  const sized = layOut(rows, columns, widthMax);
  const line = (cell: (one: Sized<Row>) => string) => `${sized.map(cell).join(GAP).trimEnd()}\n`;
  const body = rows.map((row) =>
    line((one) => {
      const cell = cellOf(one, one.column.value(row));
      return one.column.paint ? one.column.paint(cell, row) : cell;
    }),
  );
  return line((one) => cellOf(one, one.column.title)) + body.join("");
}

interface Sized<Row> {
  readonly column: Column<Row>;
  readonly least: number;
  readonly width: number;
}

function cellOf<Row>({ column, width: own }: Sized<Row>, text: string): string {
  const cut = fit(text, own);
  const space = " ".repeat(Math.max(0, own - width(cut)));
  return column.align === "right" ? space + cut : cut + space;
}

/** The last column says most: it gets this much before the others get more than their least. */
const LAST_WIDTH_GOOD = 20;

/** First everyone gets the least, then, from the left, what is wanted, as long as there is room. */
function layOut<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  widthMax: number,
): readonly Sized<Row>[] {
  const wanted = columns.map((column, index) => measure(rows, column, index === columns.length - 1));
  const shown = giveUp(wanted, widthMax);
  let room = Math.max(0, widthMax - leastOf(shown));
  const grown = (one: Sized<Row>, widthWanted: number): Sized<Row> => {
    const own = Math.max(one.least, Math.min(widthWanted, one.least + room));
    room -= own - one.least;
    return { ...one, least: own };
  };
  const last = shown.at(-1);
  const before = last ? grown(last, Math.min(last.width, LAST_WIDTH_GOOD)) : undefined;
  const others = shown.slice(0, -1).map((one) => grown(one, one.width));
  const all = before ? [...others, grown(before, before.width)] : others;
  return all.map((one) => ({ ...one, width: one.least }));
}

function measure<Row>(rows: readonly Row[], column: Column<Row>, isLast: boolean): Sized<Row> {
  const own = rows.reduce((most, row) => Math.max(most, width(column.value(row))), width(column.title));
  const least = column.cutTo ?? (isLast ? LAST_WIDTH_MIN : own);
  return { column, width: own, least: Math.min(own, least) };
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
