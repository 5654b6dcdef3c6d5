/** Workers that are alive, from the queues that they process. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { machineName, plural } from "../ui/numbers.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

type Row = ResponseOf<"GET /workers">["workers"][number];

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Worker",
    track: "minmax(0, 1fr)",
    cell: ({ holder }) => <span title={holder}>{holder}</span>,
  },
  {
    key: "queue",
    title: "Queue",
    track: "minmax(0, 1fr)",
    cell: ({ queue }) => (
      <Link to="/queues/$name" params={{ name: queue }} className="hover:underline">
        {queue}
      </Link>
    ),
  },
  {
    key: "host",
    title: "Machine",
    track: "160px",
    cell: ({ host }) => <span title={host}>{machineName(host)}</span>,
  },
  { key: "pid", title: "Process", track: "90px", align: "right", secondary: true, cell: ({ pid }) => pid },
  { key: "expires", title: "Lease ends", track: "100px", cell: ({ expires_at }) => <Time at={expires_at} /> },
];

export function Workers() {
  const workers = useQuery({
    queryKey: ["queues", "workers"],
    queryFn: ({ signal }) => call("GET /workers", {}, { signal }),
  });
  const rows = workers.data?.workers ?? [];
  return (
    <>
      <Heading
        title="Workers"
        facts={workers.data && plural(rows.length, "worker")}
        command="redrive queue list"
      />
      <Panel>
        {workers.isPending && <Skeleton />}
        {workers.error && <ErrorPanel error={workers.error} retry={() => void workers.refetch()} />}
        {workers.data && rows.length === 0 && (
          <Empty title="No worker is alive." command="redrive worker --queue orders -- ./process {}">
            <p>A worker processes the items of a queue, on this machine or on another one.</p>
          </Empty>
        )}
        {rows.length > 0 && (
          <Table
            label="Workers"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ holder, queue }) => `${holder} ${queue}`}
          />
        )}
      </Panel>
    </>
  );
}
