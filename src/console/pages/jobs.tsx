/** Jobs: runs of maps and workflows, newest first. */
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { usePages } from "../data/list.ts";
import { countColumn, LINK, TwoLines, timeColumn } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { countText } from "../ui/numbers.ts";
import { Progress } from "../ui/progress.tsx";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";
import { durationText } from "../ui/time.tsx";

type Row = ResponseOf<"GET /jobs">["jobs"][number];

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Job",
    track: "minmax(0, 1fr)",
    cell: ({ job_id: id, command }) => (
      <Link to="/jobs/$id" params={{ id }} className={LINK}>
        <TwoLines mono first={<span className="font-sans">{id}</span>} second={command} title={command} />
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
  countColumn("done", "Done", ({ succeeded }) => succeeded, {
    track: "110px",
    cell: ({ succeeded, total }) => `${countText(succeeded)}/${countText(total)}`,
  }),
  countColumn("dead", "Dead", ({ dead }) => dead, {
    track: "70px",
    cell: ({ dead }) => <span className={dead > 0 ? "font-medium text-red" : ""}>{countText(dead)}</span>,
  }),
  timeColumn("started", "Started", ({ started_at }) => started_at),
  countColumn("took", "Took", ({ duration_ms }) => duration_ms, {
    track: "90px",
    secondary: true,
    cell: ({ duration_ms }) => durationText(duration_ms),
  }),
  {
    key: "status",
    title: "Status",
    track: "110px",
    aside: true,
    cell: ({ status }) => <State name={status} />,
  },
];

const STATUSES = ["all", "running", "interrupted", "stopped", "completed", "failed"] as const;

export function Jobs() {
  const navigate = useNavigate();
  const list = usePages(
    ["jobs"],
    (page, signal) => call("GET /jobs", { query: page }, { signal }),
    ({ jobs }) => jobs,
  );
  return (
    <ListPage
      title="Jobs"
      facts="Runs of maps and workflows, newest first"
      command="redrive jobs"
      list={list}
      filters={[
        { key: "state", label: "Status", values: STATUSES, as: "chips", of: ({ status }) => status },
        { key: "q", label: "Search jobs", of: ({ job_id, command }) => `${job_id} ${command}` },
      ]}
      columns={COLUMNS}
      rowHeight={48}
      keyOf={({ job_id }) => job_id}
      onOpen={({ job_id: id }) => void navigate({ to: "/jobs/$id", params: { id } })}
      empty={{
        title: "No jobs yet.",
        command: "ls *.json | redrive map -- gzip -k {}",
        children: <p>A job runs a command or a workflow over many items.</p>,
      }}
    />
  );
}
