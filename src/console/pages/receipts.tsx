/** The receipt targets: what is waiting, what was delivered, and what could not be delivered. */
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { wholeList } from "../data/list.ts";
import { useRoute } from "../data/use-route.ts";
import { May } from "../shell/session.tsx";
import { PauseAction } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { countColumn, LINK, TwoLines } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import type { Column } from "../ui/table.tsx";
import { lettersColumn, STATE_FILTER, stateColumn } from "./queues.tsx";
import { TargetForm } from "./target-forms.tsx";

type Row = ResponseOf<"GET /targets">["targets"][number];

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Target",
    track: "minmax(0, 1fr)",
    sort: ({ name }) => name,
    cell: ({ name, description, settings }) => (
      <Link to="/receipts/$target" params={{ target: name }} className={LINK}>
        <TwoLines first={name} second={[description, settings.url].filter(Boolean).join(" · ")} />
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
  const [isCreating, setCreating] = useState(false);
  const navigate = useNavigate();
  const list = wholeList(useRoute("queues", "GET /targets"), ({ targets }) => targets);
  return (
    <ListPage
      title="Receipts"
      facts="Deliveries to other services"
      command="redrive receipts list"
      actions={
        <May atLeast="admin">
          <Button tone="primary" onClick={() => setCreating(true)}>
            Create a target…
          </Button>
        </May>
      }
      list={list}
      filters={[STATE_FILTER, { key: "q", label: "Search targets", of: ({ name }) => name }]}
      label="Targets"
      columns={COLUMNS}
      rowHeight={48}
      keyOf={({ name }) => name}
      onOpen={({ name }) => void navigate({ to: "/receipts/$target", params: { target: name } })}
      empty={{
        title: "There are no receipt targets.",
        command: "redrive receipts target billing --url https://billing.example/hook",
        children: <p>A target is a service that must get every receipt, through outages and restarts.</p>,
      }}
    >
      {isCreating && <TargetForm onClose={() => setCreating(false)} />}
    </ListPage>
  );
}
