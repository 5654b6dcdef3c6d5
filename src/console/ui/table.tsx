/**
 * A list of rows. Only the visible rows are in the document, the next page is read before its end is reached, `j` and `k` move
 * between rows, Enter opens one and `x` selects it. On a phone a row is a card.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useKeys } from "../shell/keys.ts";

export interface Column<Row> {
  readonly key: string;
  readonly title: ReactNode;
  /** A CSS grid track, e.g. `minmax(0, 1fr)` or `90px`. */
  readonly track: string;
  readonly align?: "right";
  /** Left out on narrow screens. */
  readonly secondary?: boolean;
  cell(row: Row): ReactNode;
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly onOpen?: (row: Row) => void;
  readonly onEndReached?: () => void;
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (key: string, range: boolean) => void;
  readonly rowHeight?: number;
  /** A row on a phone, instead of its columns. */
  readonly card?: (row: Row) => ReactNode;
  /** Default: the rest of the window. */
  readonly maxHeight?: string;
}

const OVERSCAN = 12;

export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, onOpen, onEndReached, selected, onSelect, rowHeight = 44 } = props;
  const { maxHeight = "calc(100vh - 220px)" } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(-1);
  const isNarrow = useNarrow();
  const shown = isNarrow ? narrowColumns(props) : columns;
  const tracks = `${onSelect ? "32px " : ""}${shown.map(({ track }) => track).join(" ")}`;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
  });
  const visible = virtual.getVirtualItems();
  const last = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - OVERSCAN) onEndReached?.();
  }, [last, rows.length, onEndReached]);

  const move = (by: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, current + by));
    setCurrent(next);
    virtual.scrollToIndex(next);
  };
  const act = (change: (row: Row) => void) => () => {
    const row = rows[current];
    if (row !== undefined) change(row);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: act((row) => onOpen?.(row)),
    ...(onSelect && {
      x: act((row) => onSelect(keyOf(row), false)),
      X: act((row) => onSelect(keyOf(row), true)),
    }),
  });

  return (
    <div role="table" aria-label={label} aria-rowcount={rows.length + 1} className="min-w-0">
      <div role="rowgroup">
        <div
          role="row"
          className="grid items-center gap-3 border-b border-line px-3 py-1.5 text-xs font-medium text-muted"
          style={{ gridTemplateColumns: tracks }}
        >
          {onSelect && (
            <span role="columnheader">
              <span className="sr-only">Selected</span>
            </span>
          )}
          {shown.map(({ key, title, align }) => (
            <span
              role="columnheader"
              key={key}
              className={`truncate ${align === "right" ? "text-right" : ""}`}
            >
              {title}
            </span>
          ))}
        </div>
      </div>
      <div
        ref={scroller}
        role="rowgroup"
        tabIndex={0}
        className="overflow-auto"
        style={{ maxHeight, minHeight: Math.min(rows.length, 4) * rowHeight }}
      >
        <div role="presentation" style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {visible.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const key = keyOf(row);
            return (
              <div
                key={key}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={selected?.has(key)}
                onClick={(event) => isPlainClick(event) && onOpen?.(row)}
                className={`absolute inset-x-0 grid items-center gap-3 border-b border-line px-3 hover:bg-grey-soft ${
                  index === current ? "bg-accent-soft" : selected?.has(key) ? "bg-accent-soft" : ""
                } ${onOpen ? "cursor-pointer" : ""}`}
                style={{
                  gridTemplateColumns: tracks,
                  height: rowHeight,
                  transform: `translateY(${start}px)`,
                }}
              >
                {onSelect && (
                  <span role="cell">
                    <input
                      type="checkbox"
                      aria-label={`Select ${key}`}
                      checked={selected?.has(key) ?? false}
                      onChange={(event) => onSelect(key, (event.nativeEvent as MouseEvent).shiftKey)}
                    />
                  </span>
                )}
                {shown.map(({ key: column, cell, align }) => (
                  <span
                    role="cell"
                    key={column}
                    className={`min-w-0 truncate ${align === "right" ? "text-right" : ""}`}
                  >
                    {cell(row)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function narrowColumns<Row>({ columns, card, label }: TableProps<Row>): readonly Column<Row>[] {
  if (card === undefined) return columns.filter(({ secondary }) => !secondary);
  return [{ key: "card", title: label, track: "minmax(0, 1fr)", cell: card }];
}

/** Clicks on links, buttons and boxes inside a row are theirs, and selecting text is not a click. */
function isPlainClick(event: React.MouseEvent): boolean {
  const inside = event.target instanceof Element && event.target.closest("a, button, input, select, summary");
  return !inside && String(window.getSelection()) === "" && !event.metaKey && !event.ctrlKey;
}

const NARROW = window.matchMedia("(max-width: 700px)");

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const onChange = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", onChange);
    return () => NARROW.removeEventListener("change", onChange);
  }, []);
  return isNarrow;
}
