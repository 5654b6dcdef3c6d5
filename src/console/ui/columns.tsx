/** Common table columns: texts, counts, times, and a title with a description below. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { MiddleText } from "./middle-text.tsx";
import { countText } from "./numbers.ts";
import type { Column } from "./table.tsx";
import { Time } from "./time.tsx";

type Options<Row> = Partial<Omit<Column<Row>, "key" | "title">>;

export function textColumn<Row>(
  key: string,
  title: string,
  of: (row: Row) => string,
  options: Options<Row> = {},
): Column<Row> {
  const cell = (row: Row) => <span title={of(row)}>{of(row)}</span>;
  const isEmpty = (row: Row) => of(row) === "";
  return { key, title, track: "minmax(0, 1fr)", sort: of, isEmpty, cell, ...options };
}

export function countColumn<Row>(
  key: string,
  title: string,
  of: (row: Row) => number,
  options: Options<Row> = {},
): Column<Row> {
  const cell = (row: Row) => <Count count={of(row)} />;
  return { key, title, track: "80px", align: "right", sort: of, cell, ...options };
}

/** A zero says little, so that the other numbers stand out. */
export function Count({ count }: { readonly count: number }) {
  return <span className={count === 0 ? "text-muted" : ""}>{countText(count)}</span>;
}

export function timeColumn<Row>(
  key: string,
  title: string,
  of: (row: Row) => string | null | undefined,
  options: Options<Row> = {},
): Column<Row> {
  const cell = (row: Row) => <Time at={of(row)} />;
  return { key, title, track: "90px", sort: (row) => of(row) ?? "", cell, ...options };
}

export function queueColumn<Row extends { readonly queue: string }>(): Column<Row> {
  const queueOf = ({ queue }: Row) => queue;
  return textColumn("queue", "Queue", queueOf, {
    cell: ({ queue }) => (
      <Link to="/queues/$name" params={{ name: queue }} className={LINK}>
        <MiddleText text={queue} />
      </Link>
    ),
  });
}

interface TwoLinesProps {
  readonly first: ReactNode;
  readonly second: ReactNode;
  readonly title?: string | undefined;
  readonly mono?: boolean;
}

export function TwoLines({ first, second, title, mono = false }: TwoLinesProps) {
  return (
    <span className="block min-w-0 leading-5" title={title}>
      <span className="block truncate font-medium max-sm:line-clamp-2 max-sm:whitespace-normal">{first}</span>
      <span className={`block truncate text-xs font-normal text-muted ${mono ? "font-mono" : ""}`}>
        {second}
      </span>
    </span>
  );
}

/**
 * One of two columns of panels. In a narrow window all panels form one column, in which `order` moves less
 * important ones down.
 */
export const COLUMN = "min-w-0 max-xl:contents xl:space-y-3";

export const LINK = "block min-w-0 truncate hover:underline";
