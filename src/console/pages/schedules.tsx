/** Schedules: items that are added to queues by cron patterns. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { May } from "../shell/session.tsx";
import { Button } from "../ui/button.tsx";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

type Row = ResponseOf<"GET /schedules">["schedules"][number];

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Schedule",
    track: "minmax(0, 1fr)",
    cell: ({ schedule }) => <span className="font-medium">{schedule}</span>,
  },
  {
    key: "queue",
    title: "Queue",
    track: "minmax(0, 1fr)",
    secondary: true,
    cell: ({ queue }) => (
      <Link to="/queues/$name" params={{ name: queue }} className="hover:underline">
        {queue}
      </Link>
    ),
  },
  {
    key: "cron",
    title: "When",
    track: "minmax(0, 1fr)",
    cell: ({ cron, timezone }) => (
      <span className="font-mono text-xs">
        {cron} <span className="text-muted">{timezone}</span>
      </span>
    ),
  },
  {
    key: "last",
    title: "Last run",
    track: "100px",
    secondary: true,
    cell: ({ last_run_at }) => <Time at={last_run_at} />,
  },
  {
    key: "next",
    title: "Next run",
    track: "100px",
    secondary: true,
    cell: ({ next_run_at }) => <Time at={next_run_at} />,
  },
  {
    key: "state",
    title: "State",
    track: "90px",
    secondary: true,
    cell: ({ paused_at }) => <State name={paused_at === null ? "active" : "paused"} />,
  },
  {
    key: "act",
    title: "Action",
    track: "90px",
    cell: (row) => (
      <May atLeast="operator">
        <PauseSchedule row={row} />
      </May>
    ),
  },
];

export function Schedules() {
  const schedules = useQuery({
    queryKey: ["queues", "schedules"],
    queryFn: ({ signal }) => call("GET /schedules", {}, { signal }),
  });
  const rows = schedules.data?.schedules ?? [];
  return (
    <>
      <Heading title="Schedules" facts="Items that are added by a clock" command="redrive schedule list" />
      <Panel>
        {schedules.isPending && <Skeleton />}
        {schedules.error && <ErrorPanel error={schedules.error} retry={() => void schedules.refetch()} />}
        {schedules.data && rows.length === 0 && (
          <Empty title="There are no schedules." command="redrive schedule create --help">
            <p>A schedule adds an item to a queue at the times of a cron pattern.</p>
          </Empty>
        )}
        {rows.length > 0 && (
          <Table label="Schedules" columns={COLUMNS} rows={rows} keyOf={({ schedule }) => schedule} />
        )}
      </Panel>
    </>
  );
}

function PauseSchedule({ row }: { readonly row: Row }) {
  const client = useQueryClient();
  const verb = row.paused_at === null ? "pause" : "resume";
  const change = useMutation({
    mutationFn: () => call(`POST /schedules/{schedule}/${verb}`, { params: { schedule: row.schedule } }),
    onSuccess: () => client.invalidateQueries(),
  });
  return <Button onClick={() => change.mutate()}>{verb === "pause" ? "Pause" : "Resume"}</Button>;
}
