/** Schedules: items that are added to queues by cron patterns. */
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { useWhole } from "../data/list.ts";
import { May } from "../shell/session.tsx";
import { PauseAction } from "../ui/action.tsx";
import { queueColumn, textColumn, timeColumn } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";

type Row = ResponseOf<"GET /schedules">["schedules"][number];

const stateOf = ({ paused_at: pausedAt }: Row) => (pausedAt === null ? "active" : "paused");

const COLUMNS: readonly Column<Row>[] = [
  textColumn("name", "Schedule", ({ schedule }) => schedule, {
    cell: ({ schedule }) => <span className="font-medium">{schedule}</span>,
  }),
  queueColumn(),
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
  timeColumn("last", "Last run", ({ last_run_at }) => last_run_at, { secondary: true }),
  timeColumn("next", "Next run", ({ next_run_at }) => next_run_at),
  {
    key: "state",
    title: "State",
    track: "90px",
    aside: true,
    sort: stateOf,
    cell: (row) => <State name={stateOf(row)} />,
  },
  {
    key: "act",
    title: "Action",
    track: "100px",
    aside: true,
    cell: ({ schedule, paused_at: pausedAt }) => (
      <May atLeast="operator">
        <PauseAction
          isPaused={pausedAt !== null}
          pause={() => call("POST /schedules/{schedule}/pause", { params: { schedule } })}
          resume={() => call("POST /schedules/{schedule}/resume", { params: { schedule } })}
        />
      </May>
    ),
  },
];

export function Schedules() {
  const list = useWhole(
    ["queues", "schedules"],
    (signal) => call("GET /schedules", {}, { signal }),
    ({ schedules }) => schedules,
  );
  return (
    <ListPage
      title="Schedules"
      facts="Items that are added to queues at set times"
      command="redrive schedule list"
      list={list}
      filters={[
        { key: "state", label: "State", values: ["all", "active", "paused"], as: "chips", of: stateOf },
        { key: "q", label: "Search schedules", of: ({ schedule, queue }) => `${schedule} ${queue}` },
      ]}
      label="Schedules"
      columns={COLUMNS}
      keyOf={({ schedule }) => schedule}
      empty={{
        title: "There are no schedules.",
        command: "redrive schedule create nightly --queue orders --cron '0 3 * * *'",
        children: <p>A schedule adds an item to a queue at the times of a cron pattern.</p>,
      }}
    />
  );
}
