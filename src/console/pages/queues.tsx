/** Queues: how full, how far behind, who works on them. */
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { useWhole } from "../data/list.ts";
import { countColumn } from "../ui/columns.tsx";
import { type Filter, ListPage } from "../ui/list-page.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";
import { durationText } from "../ui/time.tsx";

type Row = ResponseOf<"GET /queues">["queues"][number];

export function queueState({ is_paused: isPaused, breaker }: Pick<Row, "is_paused" | "breaker">): string {
  return isPaused ? "paused" : breaker ? "breaker open" : "active";
}

export function QueueState({ queue }: { readonly queue: Pick<Row, "is_paused" | "breaker"> }) {
  const state = queueState(queue);
  return <State name={state === "breaker open" ? "held" : state} label={state} />;
}

export const stateColumn: Column<Row> = {
  key: "state",
  title: "State",
  track: "110px",
  aside: true,
  sort: queueState,
  cell: (queue) => <QueueState queue={queue} />,
};

export const lettersColumn: Column<Row> = {
  key: "letters",
  title: "Dead",
  track: "64px",
  align: "right",
  sort: ({ counts }) => counts.letters ?? 0,
  cell: ({ name, counts: { letters = 0 } }) => (
    <Link
      to="/letters"
      search={{ queue: name }}
      className={letters > 0 ? "font-medium text-red hover:underline" : ""}
    >
      {countText(letters)}
    </Link>
  ),
};

export const STATE_FILTER: Filter<Row> = {
  key: "state",
  label: "State",
  values: ["all", "active", "paused", "breaker open"],
  as: "chips",
  of: queueState,
};

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Queue",
    track: "minmax(0, 1fr)",
    sort: ({ name }) => name,
    cell: ({ name }) => (
      <Link to="/queues/$name" params={{ name }} className="font-medium hover:underline">
        {name}
      </Link>
    ),
  },
  countColumn("ready", "Ready", ({ counts }) => counts.ready ?? 0, { track: "64px" }),
  countColumn("leased", "Running", ({ counts }) => counts.leased ?? 0, { track: "64px" }),
  lettersColumn,
  countColumn("done", "Done", ({ counts }) => counts.done ?? 0, { track: "72px", secondary: true }),
  countColumn("oldest", "Oldest ready", ({ oldest_ready_ms: ms }) => ms ?? 0, {
    track: "110px",
    secondary: true,
    cell: ({ oldest_ready_ms: ms }) => (ms === null ? "–" : durationText(ms)),
  }),
  countColumn("workers", "Workers", ({ workers }) => workers.length, { secondary: true }),
  stateColumn,
];

export function Queues() {
  const navigate = useNavigate();
  const list = useWhole(
    ["queues"],
    (signal) => call("GET /queues", {}, { signal }),
    ({ queues }) => queues,
  );
  return (
    <ListPage
      title="Queues"
      facts={!list.isPending && plural(list.rows.length, "queue")}
      command="redrive queue list"
      list={list}
      filters={[STATE_FILTER, { key: "q", label: "Search queues", of: ({ name }) => name }]}
      label="Queues"
      columns={COLUMNS}
      keyOf={({ name }) => name}
      onOpen={({ name }) => void navigate({ to: "/queues/$name", params: { name } })}
      empty={{
        title: "There are no queues.",
        command: "redrive queue create orders",
        children: <p>A queue holds items that workers on any machine process.</p>,
      }}
    />
  );
}
