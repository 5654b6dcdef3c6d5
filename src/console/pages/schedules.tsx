/** The schedules page. A schedule adds items to a queue by a cron pattern. */
import { useState } from "react";
import { call } from "../data/api.ts";
import { wholeList } from "../data/list.ts";
import { useRoute } from "../data/use-route.ts";
import { May } from "../shell/session.tsx";
import { PauseAction } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { queueColumn, TwoLines, textColumn, timeColumn } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { MiddleText } from "../ui/middle-text.tsx";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";
import { RemoveSchedule, type Schedule, ScheduleForm } from "./schedule-form.tsx";

type Row = Schedule;

const stateOf = ({ paused_at: pausedAt }: Row) => (pausedAt === null ? "active" : "paused");

const COLUMNS: readonly Column<Row>[] = [
  textColumn("name", "Schedule", ({ schedule }) => schedule, {
    cell: ({ schedule }) => <MiddleText text={schedule} className="font-medium" />,
  }),
  queueColumn(),
  {
    key: "cron",
    title: "When",
    track: "130px",
    cell: ({ cron, timezone }) => (
      <TwoLines first={<span className="font-mono text-xs">{cron}</span>} second={timezone} />
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
    track: "210px",
    line: "last",
    cell: (row) => <RowActions row={row} />,
  },
];

function RowActions({ row }: { readonly row: Row }) {
  const { schedule, paused_at: pausedAt } = row;
  const [open, setOpen] = useState<"change" | "remove" | null>(null);
  const close = () => setOpen(null);
  return (
    <span className="flex gap-1.5">
      <May atLeast="operator">
        <PauseAction
          isPaused={pausedAt !== null}
          pause={() => call("POST /schedules/{schedule}/pause", { params: { schedule } })}
          resume={() => call("POST /schedules/{schedule}/resume", { params: { schedule } })}
        />
      </May>
      <May atLeast="admin">
        <Button onClick={() => setOpen("change")}>Change…</Button>
        <Button tone="danger" aria-label={`Remove ${schedule}`} onClick={() => setOpen("remove")}>
          ✕
        </Button>
      </May>
      {open === "change" && <ScheduleForm schedule={row} onClose={close} />}
      {open === "remove" && <RemoveSchedule schedule={row} onClose={close} />}
    </span>
  );
}

export function Schedules() {
  const [isCreating, setCreating] = useState(false);
  const list = wholeList(useRoute("queues", "GET /schedules"), ({ schedules }) => schedules);
  return (
    <ListPage
      title="Schedules"
      facts="Items that are added to queues at scheduled times"
      command="redrive schedule list"
      actions={
        <May atLeast="admin">
          <Button tone="primary" onClick={() => setCreating(true)}>
            Create a schedule…
          </Button>
        </May>
      }
      list={list}
      filters={[
        { key: "state", label: "State", values: ["all", "active", "paused"], as: "chips", of: stateOf },
        { key: "q", label: "Search schedules", of: ({ schedule, queue }) => `${schedule} ${queue}` },
      ]}
      columns={COLUMNS}
      keyOf={({ schedule }) => schedule}
      empty={{
        title: "There are no schedules.",
        command: "redrive schedule create nightly --queue orders --cron '0 3 * * *'",
        children: <p>A schedule adds an item to a queue at the times of a cron pattern.</p>,
      }}
    >
      {isCreating && <ScheduleForm onClose={() => setCreating(false)} />}
    </ListPage>
  );
}
