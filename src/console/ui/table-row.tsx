/** The cells of one row: side by side in a table, or as a card on a phone. */
import type { Column } from "./table.tsx";

interface CellsProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly row: Row;
}

export function WideCells<Row>({ columns, row }: CellsProps<Row>) {
  return columns.map(({ key, cell, align }) => (
    <span role="cell" key={key} className={`min-w-0 truncate ${align === "right" ? "text-right" : ""}`}>
      {cell(row)}
    </span>
  ));
}

/** The first column is the title of the card, the others stand below it with their names. */
export function CardCells<Row>({ columns, row }: CellsProps<Row>) {
  const [title, ...others] = columns;
  if (title === undefined) return null;
  const asides = others.filter(({ aside }) => aside);
  const lines = others.filter(({ line }) => line);
  const below = others.filter(({ aside, line }) => !aside && !line);
  return (
    <div role="presentation" className="min-w-0 flex-1">
      <div role="presentation" className="flex items-start justify-between gap-2">
        <span role="cell" className="min-w-0 flex-1">
          {title.cell(row)}
        </span>
        {asides.map(({ key, cell }) => (
          <span role="cell" key={key} className="shrink-0">
            {cell(row)}
          </span>
        ))}
      </div>
      {lines.map(({ key, cell }) => (
        <span role="cell" key={key} className="block min-w-0">
          {cell(row)}
        </span>
      ))}
      <div role="presentation" className="mt-0.5 flex flex-wrap gap-x-3 text-xs text-muted">
        {below.map(({ key, title: name, cell }) => (
          <span role="cell" key={key} className="max-w-full min-w-0 truncate">
            {name} {cell(row)}
          </span>
        ))}
      </div>
    </div>
  );
}
