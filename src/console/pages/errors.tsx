/** The error log: every failure of every queue, whether or not it was retried. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { typeName } from "../data/letter.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

type Row = ResponseOf<"GET /errors">["errors"][number];
const text = (value: unknown) => (typeof value === "string" ? value : "");

const COLUMNS: readonly Column<Row>[] = [
  { key: "at", title: "When", track: "90px", cell: ({ timestamp }) => <Time at={timestamp} /> },
  {
    key: "error",
    title: "Error",
    track: "minmax(0, 2fr)",
    cell: ({ error_message: message, error_type: type, step }) => (
      <span className="block leading-5">
        <span className="block truncate" title={text(message)}>
          {text(message)}
        </span>
        <span className="block truncate text-xs text-muted">
          {[typeName(type), text(step)].filter(Boolean).join(" · ")}
        </span>
      </span>
    ),
  },
  {
    key: "item",
    title: "Item",
    track: "minmax(0, 1fr)",
    cell: ({ queue, item_id: item }) =>
      text(item) === "" ? null : (
        <Link
          to="/items/$queue/$item"
          params={{ queue: text(queue), item: text(item) }}
          className="hover:underline"
        >
          {text(item)}
        </Link>
      ),
  },
  { key: "queue", title: "Queue or job", track: "150px", secondary: true, cell: ({ queue }) => text(queue) },
  {
    key: "attempt",
    title: "Attempt",
    track: "70px",
    align: "right",
    secondary: true,
    cell: ({ attempt }) => String(attempt ?? "–"),
  },
  { key: "machine", title: "Machine", track: "120px", secondary: true, cell: ({ machine }) => text(machine) },
];

export function Errors() {
  const errors = useInfiniteQuery({
    queryKey: ["errors"],
    queryFn: ({ pageParam, signal }) =>
      call(
        "GET /errors",
        { query: { limit: 100, ...(pageParam !== "" && { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
  });
  const rows = errors.data?.pages.flatMap((page) => page.errors) ?? [];
  return (
    <>
      <Heading
        title="Errors"
        facts="Every failed attempt, also of items that succeeded later"
        command="redrive errors"
      />
      <Panel>
        {errors.isPending && <Skeleton />}
        {errors.error && <ErrorPanel error={errors.error} retry={() => void errors.refetch()} />}
        {errors.data && rows.length === 0 && <Empty title="No attempt has failed." />}
        {rows.length > 0 && (
          <Table
            label="Errors"
            columns={COLUMNS}
            rows={rows}
            rowHeight={48}
            keyOf={({ id }) => String(id)}
            onEndReached={() => {
              if (errors.hasNextPage && !errors.isFetchingNextPage) void errors.fetchNextPage();
            }}
          />
        )}
      </Panel>
    </>
  );
}
