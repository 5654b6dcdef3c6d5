/** Jobs: runs of maps and workflows, newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { countText } from "../ui/numbers.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { Progress } from "../ui/progress.tsx";
import { State } from "../ui/state.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { durationText, Time } from "../ui/time.tsx";

type Row = ResponseOf<"GET /jobs">["jobs"][number];

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Job",
    track: "minmax(0, 1fr)",
    cell: ({ job_id: id, command }) => (
      <Link to="/jobs/$id" params={{ id }} className="block truncate leading-5 hover:underline">
        <span className="block truncate font-medium">{id}</span>
        <span className="block truncate font-mono text-xs text-muted" title={command}>
          {command}
        </span>
      </Link>
    ),
  },
  {
    key: "progress",
    title: "Progress",
    track: "160px",
    secondary: true,
    cell: (job) => <Progress done={job.succeeded} dead={job.dead} total={job.total} />,
  },
  {
    key: "done",
    title: "Done",
    track: "110px",
    align: "right",
    cell: ({ succeeded, total }) => `${countText(succeeded)}/${countText(total)}`,
  },
  {
    key: "dead",
    title: "Dead",
    track: "70px",
    align: "right",
    cell: ({ dead }) => <span className={dead > 0 ? "font-medium text-red" : ""}>{countText(dead)}</span>,
  },
  {
    key: "started",
    title: "Started",
    track: "90px",
    secondary: true,
    cell: ({ started_at }) => <Time at={started_at} />,
  },
  {
    key: "took",
    title: "Took",
    track: "90px",
    align: "right",
    secondary: true,
    cell: ({ duration_ms }) => durationText(duration_ms),
  },
  { key: "status", title: "Status", track: "110px", cell: ({ status }) => <State name={status} /> },
];

export function Jobs() {
  const navigate = useNavigate();
  const jobs = useInfiniteQuery({
    queryKey: ["jobs"],
    queryFn: ({ pageParam, signal }) =>
      call("GET /jobs", { query: { limit: 50, ...(pageParam !== "" && { cursor: pageParam }) } }, { signal }),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
  });
  const rows = jobs.data?.pages.flatMap((page) => page.jobs) ?? [];
  return (
    <>
      <Heading title="Jobs" command="redrive jobs" />
      <Panel>
        {jobs.isPending && <Skeleton />}
        {jobs.error && <ErrorPanel error={jobs.error} retry={() => void jobs.refetch()} />}
        {jobs.data && rows.length === 0 && (
          <Empty title="Nothing ever ran here." command="ls *.json | redrive map -- gzip -k {}">
            <p>A job runs a command or a workflow over many items.</p>
          </Empty>
        )}
        {rows.length > 0 && (
          <Table
            label="Jobs"
            columns={COLUMNS}
            rows={rows}
            rowHeight={48}
            keyOf={({ job_id }) => job_id}
            onOpen={({ job_id: id }) => void navigate({ to: "/jobs/$id", params: { id } })}
            onEndReached={() => {
              if (jobs.hasNextPage && !jobs.isFetchingNextPage) void jobs.fetchNextPage();
            }}
          />
        )}
      </Panel>
    </>
  );
}
