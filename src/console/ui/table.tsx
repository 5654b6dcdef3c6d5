/**
 * A virtualised list of rows, which loads the next page before the end is reached. `j` and `k` move between
 * rows, Enter opens one and `x` selects it. On a phone every row is a card with the same cells.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useKeys } from "../shell/keys.ts";
import { MemoRow, RIGHT } from "./table-row.tsx";

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  /** A CSS grid track, e.g. `minmax(0, 1fr)` or `90px`. */
  readonly track: string;
  readonly align?: "right";
  /** Hidden in cards and in narrow windows. */
  readonly secondary?: boolean;
  /** In a card: next to the first column instead of below it. */
  readonly aside?: boolean;
  /** In a card: on a separate line without a label, below the title or below everything. */
  readonly line?: boolean | "last";
  /** The sort key of the column. A click on the heading sorts by it. */
  readonly sort?: (row: Row) => string | number;
  /** Whether to omit the cell from a card. */
  readonly isEmpty?: (row: Row) => boolean;
  cell(row: Row): ReactNode;
}

export interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly onOpen?: ((row: Row) => void) | undefined;
  readonly onEndReached?: (() => void) | undefined;
  readonly selected?: ReadonlySet<string> | undefined;
  readonly onSelect?: ((key: string, range: boolean) => void) | undefined;
  readonly rowHeight?: number | undefined;
  /** Default: the remaining height of the window. */
  readonly maxHeight?: string | undefined;
  /** Keyboard shortcuts for the current row. */
  readonly rowKeys?: Readonly<Record<string, (row: Row) => void>> | undefined;
  /** The sort column, with the prefix `-` for descending order. */
  readonly sort?: string | undefined;
  readonly onSort?: ((sort: string) => void) | undefined;
}

const OVERSCAN = 8;
const ROW_HEIGHT = 44;
const CARD_HEIGHT = 68;

/** The scroll position of each list, restored on navigating back. */
const left = new Map<string, { readonly top: number; readonly current: number }>();

export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, onOpen, onEndReached, selected, onSelect, maxHeight } = props;
  const { rowHeight = ROW_HEIGHT } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [place] = useState(() => `${window.location.pathname}${window.location.search} ${label}`);
  const [current, setCurrent] = useState(left.get(place)?.current ?? -1);
  const isCards = useWindowBelow(CARDS_BELOW);
  const isNarrow = useWindowBelow(NARROW_BELOW);
  const shown = useMemo(
    () => (isNarrow ? columns.filter(({ secondary }) => !secondary) : columns),
    [isNarrow, columns],
  );
  const tracks = `${onSelect ? "32px " : ""}${shown.map(({ track }) => track).join(" ")}`;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isCards ? CARD_HEIGHT : rowHeight),
    initialOffset: left.get(place)?.top ?? 0,
    overscan: OVERSCAN,
    // Cards differ in height, which has to follow a row when others are added before it.
    ...(isCards && {
      getItemKey: (index: number) => {
        const row = rows[index];
        return row === undefined ? index : keyOf(row);
      },
    }),
  });
  const visible = virtual.getVirtualItems();
  const last = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - OVERSCAN) onEndReached?.();
  }, [last, rows.length, onEndReached]);
  useEffect(() => {
    const element = scroller.current;
    return () => void left.set(place, { top: element?.scrollTop ?? 0, current });
  }, [place, current]);
  const rest = useRestOfWindow(scroller, virtual.isScrolling);
  const openRow = useLatest(onOpen) as ((row: unknown) => void) | undefined;
  const selectRow = useLatest(onSelect);

  const move = (by: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, current + by));
    setCurrent(next);
    virtual.scrollToIndex(next);
  };
  const act = (change: (row: Row) => void) => () => {
    const row = rows[current];
    if (row !== undefined) change(row);
  };
  const ownKeys = Object.entries(props.rowKeys ?? {}).map(([key, change]) => [key, act(change)] as const);
  useKeys({
    ...Object.fromEntries(ownKeys),
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
      <div role="rowgroup" className={isCards ? "sr-only" : ""}>
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
          {shown.map((column) => (
            <HeaderCell key={column.key} column={column} sort={props.sort} onSort={props.onSort} />
          ))}
        </div>
      </div>
      <div
        ref={scroller}
        role="rowgroup"
        tabIndex={0}
        className="overflow-auto"
        style={{ maxHeight: maxHeight ?? rest, minHeight: Math.min(rows.length, 4) * rowHeight }}
      >
        <div role="presentation" style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {visible.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const key = keyOf(row);
            return (
              <MemoRow
                key={key}
                rowKey={key}
                row={row}
                index={index}
                start={start}
                columns={shown as readonly Column<unknown>[]}
                tracks={tracks}
                height={isCards ? null : rowHeight}
                isCurrent={index === current}
                isSelected={selected?.has(key)}
                measure={virtual.measureElement}
                onOpen={openRow}
                onSelect={selectRow}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface HeaderCellProps<Row> {
  readonly column: Column<Row>;
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

function HeaderCell<Row>({ column, sort, onSort }: HeaderCellProps<Row>) {
  const { key, title, align } = column;
  const side = align === "right" ? RIGHT : "";
  if (column.sort === undefined || onSort === undefined) {
    return (
      <span role="columnheader" className={`truncate ${side}`}>
        {title}
      </span>
    );
  }
  const isUp = sort === key;
  const isDown = sort === `-${key}`;
  return (
    <span
      role="columnheader"
      aria-sort={isUp ? "ascending" : isDown ? "descending" : "none"}
      className={`truncate ${side}`}
    >
      <button
        type="button"
        className="hover:text-text"
        title={`Sort by ${title}`}
        onClick={() => onSort(isDown ? key : `-${key}`)}
      >
        {title}
        {isUp && " ↑"}
        {isDown && " ↓"}
      </button>
    </span>
  );
}

/** Returns a stable function that calls the latest callback, or undefined if there is none. */
function useLatest<Args extends readonly unknown[]>(
  given: ((...args: Args) => void) | undefined,
): ((...args: Args) => void) | undefined {
  const latest = useRef(given);
  latest.current = given;
  const [stable] = useState(
    () =>
      (...args: Args) =>
        latest.current?.(...args),
  );
  return given === undefined ? undefined : stable;
}

const CARDS_BELOW = window.matchMedia("(max-width: 640px)");
const NARROW_BELOW = window.matchMedia("(max-width: 1100px)");

function useWindowBelow(query: MediaQueryList): boolean {
  const [isBelow, setBelow] = useState(query.matches);
  useEffect(() => {
    const onChange = () => setBelow(query.matches);
    query.addEventListener("change", onChange);
    return () => query.removeEventListener("change", onChange);
  }, [query]);
  return isBelow;
}

const REST_MIN = 240;
const BELOW_TABLE = 18;

/** The height from the top of the element to the bottom of the window, so that only the table scrolls. */
function useRestOfWindow(element: RefObject<HTMLElement | null>, isScrolling: boolean): string {
  const [height, setHeight] = useState("60vh");
  const measure = useRef(() => {});
  measure.current = () => {
    const top = (element.current?.getBoundingClientRect().top ?? 0) + window.scrollY;
    setHeight(`${Math.max(REST_MIN, window.innerHeight - top - BELOW_TABLE)}px`);
  };
  // Content above the table may grow when its data arrives, so the height is measured after every render. It does not grow
  // while the list scrolls, and measuring would force a second layout in every frame.
  useLayoutEffect(() => {
    if (!isScrolling) measure.current();
  });
  useEffect(() => {
    const onResize = () => measure.current();
    window.addEventListener("resize", onResize);
    return () => window.removeEventListener("resize", onResize);
  }, []);
  return height;
}
