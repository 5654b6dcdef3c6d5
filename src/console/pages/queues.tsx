/** The queues page: depth, age of the oldest item, and workers. */
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { wholeList } from "../data/list.ts";
import { useOverview, useRates } from "../data/overview.ts";
import { useRoute } from "../data/use-route.ts";
import { countColumn, LINK, TwoLines } from "../ui/columns.tsx";
import { type Filter, ListPage } from "../ui/list-page.tsx";
import { MiddleText } from "../ui/middle-text.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";
import { durationText } from "../ui/time.tsx";

type Row = ResponseOf<"GET /queues">["queues"][number];

/** A queue with the number of items that it finishes per minute. */
type RatedRow = Row & { readonly rate?: number | undefined };

function rateText(rate: number): string {
  return rate > 0 && rate < 10 ? rate.toFixed(1) : countText(Math.round(rate));
}

type StateFacts = Pick<Row, "is_paused" | "breaker" | "counts" | "workers">;

/** The states of a queue, as the command line names them, with the sign that each is shown with. */
const STATES = {
  paused: "paused",
  "breaker open": "failed",
  probing: "retrying",
  "no workers": "interrupted",
  working: "running",
  idle: "idle",
} as const;

export function queueState({
  is_paused: isPaused,
  breaker,
  counts,
  workers,
}: StateFacts): keyof typeof STATES {
  const gate = (breaker as { readonly state?: string } | null)?.state;
  const { ready = 0, leased = 0 } = counts;
  if (isPaused) return "paused";
  if (gate === "open") return "breaker open";
  if (gate === "half_open") return "probing";
  if (workers.length === 0 && ready > 0) return "no workers";
  return ready + leased > 0 && workers.length > 0 ? "working" : "idle";
}

export function QueueState({ queue }: { readonly queue: StateFacts }) {
  const state = queueState(queue);
  return <State name={STATES[state]} label={state} />;
}

export const stateColumn: Column<Row> = {
  key: "state",
  title: "State",
  track: "116px",
  aside: true,
  sort: queueState,
  cell: (queue) => <QueueState queue={queue} />,
};

export const lettersColumn: Column<Row> = {
  key: "letters",
  title: "Dead",
  track: "76px",
  align: "right",
  sort: ({ counts }) => counts.letters ?? 0,
  cell: ({ name, counts: { letters = 0 } }) => (
    <Link
      to="/letters"
      search={{ queue: name }}
      className={letters > 0 ? "font-medium text-red hover:underline" : "text-muted"}
    >
      {countText(letters)}
    </Link>
  ),
};

export const STATE_FILTER: Filter<Row> = {
  key: "state",
  label: "State",
  values: ["all", "working", "idle", "no workers", "paused", "breaker open"],
  as: "chips",
  of: queueState,
};

const COLUMNS: readonly Column<RatedRow>[] = [
  {
    key: "name",
    title: "Queue",
    track: "minmax(0, 1fr)",
    sort: ({ name }) => name,
    cell: ({ name, description }) => (
      <Link to="/queues/$name" params={{ name }} className={LINK}>
        {typeof description === "string" && description !== "" ? (
          <TwoLines first={<MiddleText text={name} />} second={description} title={description} />
        ) : (
          <MiddleText text={name} className="font-medium" />
        )}
      </Link>
    ),
  },
  countColumn("ready", "Ready", ({ counts }) => counts.ready ?? 0, { track: "76px" }),
  countColumn("leased", "Running", ({ counts }) => counts.leased ?? 0, { track: "76px" }),
  lettersColumn,
  countColumn("done", "Done", ({ counts }) => counts.done ?? 0, { track: "84px", secondary: true }),
  countColumn("oldest", "Oldest ready", ({ oldest_ready_ms: ms }) => ms ?? 0, {
    track: "110px",
    secondary: true,
    cell: ({ oldest_ready_ms: ms }) => (ms === null ? "–" : durationText(ms)),
  }),
  countColumn("rate", "Per minute", ({ rate = 0 }) => rate, {
    track: "96px",
    secondary: true,
    cell: ({ rate }) =>
      rate === undefined ? (
        "–"
      ) : (
        <span title="items that ended while this page was open">{rateText(rate)}</span>
      ),
  }),
  countColumn("workers", "Workers", ({ workers }) => workers.length, { secondary: true }),
  stateColumn,
];

export function Queues() {
  const navigate = useNavigate();
  const rates = useRates(useOverview({ polls: true }).data);
  const list = wholeList(useRoute("queues", "GET /queues"), ({ queues }): readonly RatedRow[] =>
    queues.map((queue) => ({ ...queue, rate: rates.of(queue.name) })),
  );
  return (
    <ListPage
      title="Queues"
      facts={!list.isPending && plural(list.rows.length, "queue")}
      command="redrive queue list"
      list={list}
      filters={[STATE_FILTER, { key: "q", label: "Search queues", of: ({ name }) => name }]}
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
