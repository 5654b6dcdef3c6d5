/** The audit: who changed what, and how. It cannot be edited. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

type Row = ResponseOf<"GET /audit">["entries"][number];

const COLUMNS: readonly Column<Row>[] = [
  { key: "at", title: "When", track: "90px", cell: ({ at }) => <Time at={at} /> },
  {
    key: "who",
    title: "Who",
    track: "minmax(0, 1fr)",
    cell: ({ author }) => <span className="font-medium">{author}</span>,
  },
  { key: "via", title: "Through", track: "80px", cell: ({ via }) => via },
  {
    key: "action",
    title: "What",
    track: "minmax(0, 1fr)",
    cell: ({ action }) => action.replaceAll("_", " "),
  },
  {
    key: "where",
    title: "Where",
    track: "minmax(0, 1fr)",
    cell: ({ queue, item_id: item }) =>
      queue !== null && item !== null ? (
        <Link to="/items/$queue/$item" params={{ queue, item }} className="hover:underline">
          {queue} / {item}
        </Link>
      ) : (
        queue
      ),
  },
  {
    key: "data",
    title: "Details",
    track: "minmax(0, 1.5fr)",
    secondary: true,
    cell: ({ data }) => (
      <span className="font-mono text-xs text-muted" title={JSON.stringify(data)}>
        {JSON.stringify(data)}
      </span>
    ),
  },
];

export function Audit() {
  const audit = useInfiniteQuery({
    queryKey: ["audit"],
    queryFn: ({ pageParam, signal }) =>
      call(
        "GET /audit",
        { query: { limit: 100, ...(pageParam !== "" && { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
  });
  const rows = audit.data?.pages.flatMap(({ entries }) => entries) ?? [];
  return (
    <>
      <Heading title="Audit" facts="Every change, with who made it and how" command="redrive audit" />
      <Panel>
        {audit.isPending && <Skeleton />}
        {audit.error && <ErrorPanel error={audit.error} retry={() => void audit.refetch()} />}
        {audit.data && rows.length === 0 && <Empty title="Nobody has changed anything yet." />}
        {rows.length > 0 && (
          <Table
            label="Changes"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ id }) => id}
            onEndReached={() => {
              if (audit.hasNextPage && !audit.isFetchingNextPage) void audit.fetchNextPage();
            }}
          />
        )}
      </Panel>
    </>
  );
}
