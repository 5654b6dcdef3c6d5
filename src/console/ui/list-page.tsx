/**
 * A page with one list: heading, equivalent command, filters stored in the URL, and a table with its empty
 * states.
 */
import { type ReactNode, useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { List } from "../data/list.ts";
import { type ListChange, useListSearch } from "../data/list-search.ts";
import type { ListSearch } from "../data/search.ts";
import { useKeys } from "../shell/keys.ts";
import { Button } from "./button.tsx";
import { Applied, Chips, Choice, SearchBox } from "./filter.tsx";
import { countText } from "./numbers.ts";
import { Empty, type EmptyProps, ErrorPanel, Heading, type HeadingProps, Panel, Skeleton } from "./panel.tsx";
import { Table, type TableProps } from "./table.tsx";

/**
 * A filter on one query parameter. With `of`, the loaded rows are filtered in the browser, otherwise the
 * server filters.
 */
export interface Filter<Row> {
  readonly key: keyof ListSearch;
  readonly label: string;
  /** The choices; the first is the default. Without choices, the filter is a search box. */
  readonly values?: readonly string[];
  /** Chips take more room than a list and show all choices at once. */
  readonly as?: "chips" | "list" | "search" | "wide" | "applied";
  of?(row: Row): string;
  /** The label of a choice. Default: the value. */
  labelOf?(value: string): string;
}

interface ListPageProps<Row>
  extends Omit<HeadingProps, "title" | "facts">,
    Omit<TableProps<Row>, "label" | "rows" | "onEndReached" | "sort" | "onSort"> {
  readonly title: string;
  /** The accessible name of the table. Default: the title. */
  readonly label?: string;
  readonly facts?: ReactNode;
  readonly list: List<Row>;
  readonly filters?: readonly Filter<Row>[];
  /** Shown if there are no rows even without filters. */
  readonly empty: EmptyProps;
  readonly above?: ReactNode;
  readonly children?: ReactNode;
}

export function ListPage<Row>(props: ListPageProps<Row>) {
  const { title, label = title, facts, actions, command, list, filters = [], children } = props;
  return (
    <>
      <Heading title={title} facts={facts} actions={actions} {...(command !== undefined && { command })} />
      <Filters filters={filters} />
      <Panel>
        <ListTable {...props} label={label} list={list} />
      </Panel>
      {children}
    </>
  );
}

type ListTableProps<Row> = Omit<
  ListPageProps<Row>,
  "title" | "label" | "facts" | "actions" | "command" | "children"
> &
  Pick<TableProps<Row>, "label">;

/** The table of a list page, also used inside panels of other pages. */
export function ListTable<Row>({ list, filters = [], empty, above, ...table }: ListTableProps<Row>) {
  const [search, change] = useListSearch();
  const found = list.rows.filter(matches(filters, search));
  // Sorting an incomplete list would suggest that it is complete.
  const rows = list.hasMore ? found : sorted(found, table.columns, search.sort);
  const isFiltered = filters.some(
    ({ key, values }) => search[key] !== undefined && search[key] !== values?.[0],
  );
  return (
    <>
      {above}
      {list.isOutdated && (
        <div className="flex items-center gap-3 border-b border-line bg-accent-soft px-3 py-1.5">
          Rows have changed since this list was read.
          <Button onClick={list.reload}>Read it again</Button>
        </div>
      )}
      {list.isPending && <Skeleton rows={8} />}
      {list.error !== null && list.error !== undefined && (
        <ErrorPanel error={list.error} retry={list.reload} />
      )}
      {!list.isPending && !list.error && rows.length === 0 && !isFiltered && <Empty {...empty} />}
      {!list.isPending && !list.error && rows.length === 0 && isFiltered && (
        <Empty title={`None of ${countText(list.rows.length)} rows that were read matches these filters.`}>
          {list.hasMore && <Button onClick={list.readMore}>Read more rows</Button>}
          <Button onClick={() => change(Object.fromEntries(filters.map(({ key }) => [key, undefined])))}>
            Clear the filters
          </Button>
        </Empty>
      )}
      {rows.length > 0 && (
        <Table
          {...table}
          rows={rows}
          onEndReached={list.readMore}
          sort={search.sort}
          {...(!list.hasMore && { onSort: (sort: string) => change({ sort }) })}
        />
      )}
    </>
  );
}

/** On a phone, all but the chips and what is applied is behind a button. The key f moves to the first search box. */
function Filters<Row>({ filters }: { readonly filters: readonly Filter<Row>[] }) {
  const [search, change] = useListSearch();
  const [isOpen, setOpen] = useState(false);
  const group = useRef<HTMLDivElement>(null);
  useKeys({
    f: () => {
      // A field that is not visible yet cannot get the focus, and the next key belongs to it already.
      flushSync(() => setOpen(true));
      group.current?.querySelector("input")?.focus();
    },
  });
  if (filters.length === 0) return null;
  const control = (filter: Filter<Row>) => (
    <FilterControl key={filter.key} filter={filter} {...{ search, change }} />
  );
  const isShort = ({ as }: Filter<Row>) => as === "chips" || as === "applied";
  const folded = filters.filter((one) => !isShort(one));
  const active = folded.filter(({ key }) => search[key] !== undefined).length;
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <div className="flex w-full min-w-0 items-center justify-between gap-2 empty:hidden sm:contents">
        {filters.filter(({ as }) => as === "chips").map(control)}
        {folded.length > 0 && (
          <Button className="sm:hidden" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Filters{active > 0 && ` (${active})`}
          </Button>
        )}
      </div>
      <div
        ref={group}
        className={`flex w-full flex-wrap items-center gap-2 sm:contents ${isOpen ? "" : "max-sm:hidden"}`}
      >
        {folded.map(control)}
      </div>
      {filters.filter(({ as }) => as === "applied").map(control)}
    </div>
  );
}

interface ControlProps<Row> {
  readonly filter: Filter<Row>;
  readonly search: ListSearch;
  readonly change: (next: ListChange) => void;
}

function FilterControl<Row>({ filter, search, change }: ControlProps<Row>) {
  const { key, label, values, labelOf, as = values ? "list" : "search" } = filter;
  const value = search[key];
  const set = (next: string) => change({ [key]: next === "" || next === values?.[0] ? undefined : next });
  if (as === "applied") return value && <Applied text={`${label}: ${value}`} onRemove={() => set("")} />;
  if (values === undefined)
    return <SearchBox label={label} value={value ?? ""} onChange={set} wide={as === "wide"} />;
  const Control = as === "chips" ? Chips : Choice;
  return (
    <Control
      label={label}
      values={values}
      labelOf={labelOf}
      value={value ?? values[0] ?? ""}
      onChange={set}
    />
  );
}

/** Whether a row passes the filters that are applied in the browser. */
function matches<Row>(filters: readonly Filter<Row>[], search: ListSearch): (row: Row) => boolean {
  const active = filters.filter(({ key, of }) => of !== undefined && search[key] !== undefined);
  return (row) =>
    active.every(({ key, of, values }) => {
      const wanted = String(search[key]);
      const text = of?.(row) ?? "";
      if (values === undefined) return text.toLowerCase().includes(wanted.toLowerCase());
      return wanted === values[0] || text === wanted;
    });
}

function sorted<Row>(
  rows: readonly Row[],
  columns: TableProps<Row>["columns"],
  sort: string | undefined,
): readonly Row[] {
  const column = columns.find(({ key }) => key === sort?.replace(/^-/u, ""));
  const value = column?.sort;
  if (sort === undefined || value === undefined) return rows;
  const direction = sort.startsWith("-") ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [first, second] = [value(a), value(b)];
    return first === second ? 0 : first < second ? -direction : direction;
  });
}
