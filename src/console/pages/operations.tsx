/** Operations: every bulk change, newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { countText } from "../ui/numbers.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { Progress } from "../ui/progress.tsx";
import { State } from "../ui/state.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

export type Operation = ResponseOf<"GET /operations">["operations"][number];

/** An operation that is open but has no letters left has sent them all, and waits for their attempts. */
export function operationState({ status, ended_at: endedAt }: Operation): string {
  return endedAt === undefined && status === "open" ? "running" : status;
}

const COLUMNS: readonly Column<Operation>[] = [
  {
    key: "what",
    title: "Operation",
    track: "minmax(0, 1fr)",
    cell: ({ operation_id: id, kind, job_id, reason }) => (
      <Link to="/operations/$id" params={{ id }} className="block truncate leading-5 hover:underline">
        <span className="block truncate font-medium">
          {kind} in {job_id}
        </span>
        <span className="block truncate text-xs text-muted">{reason ?? id}</span>
      </Link>
    ),
  },
  {
    key: "progress",
    title: "Progress",
    track: "150px",
    secondary: true,
    cell: ({ kind, done, succeeded, failed, refused, selected }) => (
      <Progress done={kind === "redrive" ? succeeded : done} dead={failed + refused} total={selected} />
    ),
  },
  {
    key: "selected",
    title: "Letters",
    track: "80px",
    align: "right",
    cell: ({ selected }) => countText(selected),
  },
  {
    key: "refused",
    title: "Refused",
    track: "80px",
    align: "right",
    secondary: true,
    cell: ({ refused }) => countText(refused),
  },
  { key: "author", title: "By", track: "130px", secondary: true, cell: ({ author }) => author },
  { key: "at", title: "Started", track: "84px", cell: ({ created_at }) => <Time at={created_at} /> },
  {
    key: "state",
    title: "State",
    track: "104px",
    cell: (operation) => <State name={operationState(operation)} />,
  },
];

export function Operations() {
  const navigate = useNavigate();
  const operations = useInfiniteQuery({
    queryKey: ["operations"],
    queryFn: ({ pageParam, signal }) =>
      call(
        "GET /operations",
        { query: { limit: 100, ...(pageParam !== "" && { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
  });
  const rows = operations.data?.pages.flatMap((page) => page.operations) ?? [];
  return (
    <>
      <Heading title="Operations" command="redrive ops list" />
      <Panel>
        {operations.isPending && <Skeleton />}
        {operations.error && <ErrorPanel error={operations.error} retry={() => void operations.refetch()} />}
        {operations.data && rows.length === 0 && (
          <Empty title="Nothing was changed yet.">
            <p>
              A retry, an edit or a discard of letters appears here, with its progress and who started it.
            </p>
          </Empty>
        )}
        {rows.length > 0 && (
          <Table
            label="Operations"
            columns={COLUMNS}
            rows={rows}
            rowHeight={48}
            keyOf={({ operation_id }) => operation_id}
            onOpen={({ operation_id: id }) => void navigate({ to: "/operations/$id", params: { id } })}
            onEndReached={() => {
              if (operations.hasNextPage && !operations.isFetchingNextPage) void operations.fetchNextPage();
            }}
          />
        )}
      </Panel>
    </>
  );
}
