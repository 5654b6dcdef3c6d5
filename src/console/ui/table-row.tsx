/** One row, laid out as table cells or, on a phone, as a card. */
import { memo } from "react";
import type { Column } from "./table.tsx";

/** Right-aligned numbers need padding before the next column. */
export const RIGHT = "text-right pr-3";

interface RowProps {
  readonly rowKey: string;
  readonly row: unknown;
  readonly index: number;
  /** The offset of the row in pixels. */
  readonly start: number;
  readonly columns: readonly Column<unknown>[];
  readonly tracks: string;
  /** The height of a row in a table; null for a card, whose height depends on its content. */
  readonly height: number | null;
  readonly isCurrent: boolean;
  readonly isSelected: boolean | undefined;
  measure(element: Element | null): void;
  readonly onOpen: ((row: unknown) => void) | undefined;
  readonly onSelect: ((key: string, range: boolean) => void) | undefined;
}

/** Memoised, so that scrolling renders only the rows that come into view. */
export const MemoRow = memo(function Row(props: RowProps) {
  const { rowKey, row, index, start, columns, tracks, height, isCurrent, isSelected, onOpen, onSelect } =
    props;
  return (
    <div
      role="row"
      data-index={index}
      ref={height === null ? props.measure : undefined}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      onClick={(event) => isPlainClick(event) && onOpen?.(row)}
      className={`absolute inset-x-0 gap-3 border-b border-line px-3 hover:bg-grey-soft ${
        height === null ? "flex py-2" : "grid items-center"
      } ${isCurrent || isSelected === true ? "bg-accent-soft" : ""} ${onOpen ? "cursor-pointer" : ""}`}
      style={{
        ...(height !== null && { gridTemplateColumns: tracks, height }),
        transform: `translateY(${start}px)`,
      }}
    >
      {onSelect && (
        <span role="cell">
          <input
            type="checkbox"
            aria-label={`Select ${rowKey}`}
            checked={isSelected ?? false}
            onChange={(event) => onSelect(rowKey, (event.nativeEvent as MouseEvent).shiftKey)}
          />
        </span>
      )}
      {height === null ? (
        <CardCells columns={columns} row={row} />
      ) : (
        <WideCells columns={columns} row={row} />
      )}
    </div>
  );
});

/**
 * Whether a click is meant for the row, not for a link, a button or a checkbox in it, nor for a text
 * selection.
 */
function isPlainClick(event: React.MouseEvent): boolean {
  const inside = event.target instanceof Element && event.target.closest("a, button, input, select, summary");
  return !inside && String(window.getSelection()) === "" && !event.metaKey && !event.ctrlKey;
}

interface CellsProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly row: Row;
}

function WideCells<Row>({ columns, row }: CellsProps<Row>) {
  return columns.map(({ key, cell, align }) => (
    <span role="cell" key={key} className={`min-w-0 truncate ${align === "right" ? RIGHT : ""}`}>
      {cell(row)}
    </span>
  ));
}

/** The first column is the title of the card; the others follow below it with their labels. */
function CardCells<Row>({ columns, row }: CellsProps<Row>) {
  const [title, ...others] = columns;
  if (title === undefined) return null;
  const asides = others.filter(({ aside }) => aside);
  const linesAt = (place: true | "last") =>
    others
      .filter(({ line }) => line === place)
      .map(({ key, cell }) => (
        <span role="cell" key={key} className={`block min-w-0 ${place === "last" ? "mt-1.5" : ""}`}>
          {cell(row)}
        </span>
      ));
  const below = others.filter(({ aside, line, isEmpty }) => !aside && !line && !isEmpty?.(row));
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
      {linesAt(true)}
      <div role="presentation" className="mt-0.5 flex flex-wrap gap-x-3 text-xs text-muted">
        {below.map(({ key, title: name, cell }) => (
          <span role="cell" key={key} className="flex max-w-full min-w-0 gap-1">
            {name} <span className="min-w-0 truncate">{cell(row)}</span>
          </span>
        ))}
      </div>
      {linesAt("last")}
    </div>
  );
}
