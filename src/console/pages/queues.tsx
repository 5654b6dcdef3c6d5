/** Queues: how full, how far behind, who works on them. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { countText } from "../ui/numbers.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { durationText } from "../ui/time.tsx";

type Row = ResponseOf<"GET /queues">["queues"][number];

const count = (key: string, title: string, secondary = false): Column<Row> => ({
  key,
  title,
  track: "64px",
  align: "right",
  secondary,
  cell: ({ counts }) => countText(counts[key] ?? 0),
});

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Queue",
    track: "minmax(0, 1fr)",
    cell: ({ name }) => (
      <Link to="/queues/$name" params={{ name }} className="font-medium hover:underline">
        {name}
      </Link>
    ),
  },
  count("ready", "Ready"),
  count("leased", "Running", true),
  {
    key: "letters",
    title: "Dead",
    track: "64px",
    align: "right",
    cell: ({ name, counts }) => (
      <Link
        to="/letters"
        search={{ queue: name }}
        className={(counts.letters ?? 0) > 0 ? "font-medium text-red hover:underline" : ""}
      >
        {countText(counts.letters ?? 0)}
      </Link>
    ),
  },
  count("done", "Done", true),
  {
    key: "oldest",
    title: "Oldest ready",
    track: "110px",
    align: "right",
    secondary: true,
    cell: ({ oldest_ready_ms: ms }) => (ms === null ? "–" : durationText(ms)),
  },
  {
    key: "workers",
    title: "Workers",
    track: "80px",
    align: "right",
    secondary: true,
    cell: ({ workers }) => workers.length,
  },
  { key: "state", title: "State", track: "110px", cell: (queue) => <QueueState queue={queue} /> },
];

export function QueueState({ queue }: { readonly queue: Pick<Row, "is_paused" | "breaker"> }) {
  if (queue.is_paused) return <State name="paused" />;
  return queue.breaker ? <State name="held" label="breaker open" /> : <State name="active" />;
}

export function Queues() {
  const navigate = useNavigate();
  const queues = useQuery({
    queryKey: ["queues"],
    queryFn: ({ signal }) => call("GET /queues", {}, { signal }),
  });
  const rows = queues.data?.queues ?? [];
  return (
    <>
      <Heading
        title="Queues"
        facts={queues.data && `${countText(rows.length)} queues`}
        command="redrive queue list"
      />
      <Panel>
        {queues.isPending && <Skeleton />}
        {queues.error && <ErrorPanel error={queues.error} retry={() => void queues.refetch()} />}
        {queues.data && rows.length === 0 && (
          <Empty title="There are no queues." command="redrive queue create orders">
            <p>A queue holds items that workers on any machine process.</p>
          </Empty>
        )}
        {rows.length > 0 && (
          <Table
            label="Queues"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ name }) => name}
            onOpen={({ name }) => void navigate({ to: "/queues/$name", params: { name } })}
          />
        )}
      </Panel>
    </>
  );
}
