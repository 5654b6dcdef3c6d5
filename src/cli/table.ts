/** A table for people: columns as wide as they need to be, the last one cut to the width of the terminal. */
import { fit, width } from "./paint.ts";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: "right";
  /** Applied after the cell has its width. */
  readonly paint?: (cell: string, row: Row) => string;
}

const GAP = "  ";

export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], widthMax: number): string {
  const widths = columns.map((column) =>
    Math.max(width(column.title), ...rows.map((row) => width(column.value(row)))),
  );
  const before = widths.slice(0, -1).reduce((sum, own) => sum + own + GAP.length, 0);
  const last = Math.max(20, widthMax - before);
  const line = (cell: (column: Column<Row>, index: number) => string) =>
    `${columns.map(cell).join(GAP).trimEnd()}\n`;
  const sized = (text: string, column: Column<Row>, index: number) => {
    const own = index === columns.length - 1 ? Math.min(last, widths[index] ?? last) : (widths[index] ?? 0);
    const cut = fit(text, own);
    const space = " ".repeat(Math.max(0, own - width(cut)));
    return column.align === "right" ? space + cut : cut + space;
  };
  const head = line((column, index) => sized(column.title, column, index));
  const body = rows.map((row) =>
    line((column, index) => {
      const cell = sized(column.value(row), column, index);
      return column.paint ? column.paint(cell, row) : cell;
    }),
  );
  return head + body.join("");
}
