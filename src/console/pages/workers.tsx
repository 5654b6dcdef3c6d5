/** The workers page: all live workers and their queues. */
import type { ResponseOf } from "../../server/contract.ts";
import { wholeList } from "../data/list.ts";
import { useRoute } from "../data/use-route.ts";
import { countColumn, queueColumn, textColumn, timeColumn } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { machineName, plural } from "../ui/numbers.ts";
import type { Column } from "../ui/table.tsx";

type Row = ResponseOf<"GET /workers">["workers"][number];

const COLUMNS: readonly Column<Row>[] = [
  textColumn("name", "Worker", ({ holder }) => holder),
  queueColumn(),
  countColumn("leased", "Running", ({ leased }) => Number(leased ?? 0)),
  textColumn("host", "Machine", ({ host }) => machineName(host), {
    track: "160px",
    cell: ({ host }) => <span title={host}>{machineName(host)}</span>,
  }),
  countColumn("pid", "Process", ({ pid }) => pid, { secondary: true, cell: ({ pid }) => pid }),
  timeColumn("expires", "Lease ends", ({ expires_at }) => expires_at),
];

export function Workers() {
  const list = wholeList(useRoute("queues", "GET /workers"), ({ workers }) => workers);
  return (
    <ListPage
      title="Workers"
      facts={!list.isPending && plural(list.rows.length, "worker")}
      command="redrive queue list"
      list={list}
      filters={[{ key: "q", label: "Search workers", of: ({ queue, host }) => `${queue} ${host}` }]}
      columns={COLUMNS}
      keyOf={({ holder, queue }) => `${holder} ${queue}`}
      empty={{
        title: "No worker is running.",
        command: "redrive worker --queue orders -- ./process {}",
        children: <p>A worker processes the items of a queue, on this machine or on another one.</p>,
      }}
    />
  );
}
