/** Targets of receipts: what waits, what was delivered, what could not be delivered. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { May } from "../shell/session.tsx";
import { Button } from "../ui/button.tsx";
import { countText } from "../ui/numbers.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { QueueState } from "./queues.tsx";

type Row = ResponseOf<"GET /targets">["targets"][number];

export function Receipts() {
  const targets = useQuery({
    queryKey: ["queues", "targets"],
    queryFn: ({ signal }) => call("GET /targets", {}, { signal }),
  });
  const rows = targets.data?.targets ?? [];
  const number = (key: string, title: string, secondary = false): Column<Row> => ({
    key,
    title,
    track: "90px",
    align: "right",
    secondary,
    cell: ({ counts }) => countText(counts[key] ?? 0),
  });
  const columns: readonly Column<Row>[] = [
    {
      key: "name",
      title: "Target",
      track: "minmax(0, 1fr)",
      cell: ({ name }) => <span className="font-medium">{name}</span>,
    },
    number("ready", "Waiting"),
    number("done", "Delivered", true),
    {
      key: "letters",
      title: "Undelivered",
      track: "110px",
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
    { key: "state", title: "State", track: "110px", cell: (target) => <QueueState queue={target} /> },
    {
      key: "act",
      title: "Action",
      track: "90px",
      cell: (target) => (
        <May atLeast="operator">
          <PauseTarget target={target} />
        </May>
      ),
    },
  ];
  return (
    <>
      <Heading title="Receipts" facts="Deliveries to other services" command="redrive receipts list" />
      <Panel>
        {targets.isPending && <Skeleton />}
        {targets.error && <ErrorPanel error={targets.error} retry={() => void targets.refetch()} />}
        {targets.data && rows.length === 0 && (
          <Empty title="There are no targets of receipts." command="redrive receipts send --help">
            <p>A target is another service that must get every receipt, through outages and restarts.</p>
          </Empty>
        )}
        {rows.length > 0 && (
          <Table label="Targets" columns={columns} rows={rows} keyOf={({ name }) => name} />
        )}
      </Panel>
    </>
  );
}

function PauseTarget({ target }: { readonly target: Row }) {
  const client = useQueryClient();
  const params = { target: target.name };
  const change = useMutation<unknown>({
    mutationFn: () =>
      target.is_paused
        ? call("POST /targets/{target}/resume", { params })
        : call("POST /targets/{target}/pause", { params, body: {} }),
    onSuccess: () => client.invalidateQueries(),
  });
  return <Button onClick={() => change.mutate()}>{target.is_paused ? "Resume" : "Pause"}</Button>;
}
