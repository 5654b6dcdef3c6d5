/** Targets of receipts: what waits, what was delivered, what could not be delivered. */
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { useWhole } from "../data/list.ts";
import { May } from "../shell/session.tsx";
import { PauseAction } from "../ui/action.tsx";
import { countColumn, LINK, TwoLines } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import type { Column } from "../ui/table.tsx";
import { lettersColumn, STATE_FILTER, stateColumn } from "./queues.tsx";

type Row = ResponseOf<"GET /targets">["targets"][number];

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Target",
    track: "minmax(0, 1fr)",
    sort: ({ name }) => name,
    cell: ({ name, settings }) => (
      <Link to="/queues/$name" params={{ name }} className={LINK}>
        <TwoLines first={name} second={String(settings.url ?? "")} />
      </Link>
    ),
  },
  countColumn("ready", "Waiting", ({ counts }) => counts.ready ?? 0),
  countColumn("leased", "Sending", ({ counts }) => counts.leased ?? 0, { secondary: true }),
  countColumn("done", "Delivered", ({ counts }) => counts.done ?? 0, { track: "90px" }),
  { ...lettersColumn, title: "Undelivered", track: "110px" },
  stateColumn,
  {
    key: "act",
    title: "Action",
    track: "90px",
    aside: true,
    cell: ({ name: target, is_paused }) => (
      <May atLeast="operator">
        <PauseAction
          isPaused={is_paused}
          pause={() => call("POST /targets/{target}/pause", { params: { target }, body: {} })}
          resume={() => call("POST /targets/{target}/resume", { params: { target } })}
        />
      </May>
    ),
  },
];

export function Receipts() {
  const navigate = useNavigate();
  const list = useWhole(
    ["queues", "targets"],
    (signal) => call("GET /targets", {}, { signal }),
    ({ targets }) => targets,
  );
  return (
    <ListPage
      title="Receipts"
      facts="Deliveries to other services"
      command="redrive receipts list"
      list={list}
      filters={[STATE_FILTER, { key: "q", label: "Search targets", of: ({ name }) => name }]}
      label="Targets"
      columns={COLUMNS}
      rowHeight={48}
      keyOf={({ name }) => name}
      onOpen={({ name }) => void navigate({ to: "/queues/$name", params: { name } })}
      empty={{
        title: "There are no targets of receipts.",
        command: "redrive receipts target billing --url https://billing.example/hook",
        children: <p>A target is a service that must get every receipt, through outages and restarts.</p>,
      }}
    />
  );
}
