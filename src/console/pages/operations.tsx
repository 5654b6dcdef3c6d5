/** Operations: every bulk change, newest first. */
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { usePages } from "../data/list.ts";
import { useListSearch } from "../data/list-search.ts";
import { quoted } from "../data/search.ts";
import { countColumn, LINK, TwoLines, textColumn, timeColumn } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { Progress } from "../ui/progress.tsx";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";

export type Operation = ResponseOf<"GET /operations">["operations"][number];

/** An operation that is open but has no letters left has sent them all, and waits for their attempts. */
export function operationState({ status, ended_at: endedAt }: Operation): string {
  return endedAt === undefined && status === "open" ? "running" : status;
}

const COLUMNS: readonly Column<Operation>[] = [
  {
    key: "what",
    title: "Operation",
    track: "minmax(0, 1fr)",
    cell: ({ operation_id: id, kind, job_id, reason }) => (
      <Link to="/operations/$id" params={{ id }} className={LINK}>
        <TwoLines first={`${kind} in ${job_id}`} second={reason ?? id} />
      </Link>
    ),
  },
  {
    key: "progress",
    title: "Progress",
    track: "150px",
    secondary: true,
    cell: ({ kind, done, succeeded, failed, refused, selected }) => (
      <Progress done={kind === "redrive" ? succeeded : done} dead={failed + refused} total={selected} />
    ),
  },
  countColumn("selected", "Letters", ({ selected }) => selected),
  countColumn("refused", "Refused", ({ refused }) => refused, { secondary: true }),
  textColumn("author", "By", ({ author }) => author, { track: "130px" }),
  timeColumn("at", "Started", ({ created_at }) => created_at),
  {
    key: "state",
    title: "State",
    track: "104px",
    aside: true,
    sort: operationState,
    cell: (operation) => <State name={operationState(operation)} />,
  },
];

export function Operations() {
  const navigate = useNavigate();
  const [{ queue, state }] = useListSearch();
  const query = { ...(queue && { job: queue }), ...(state === "open" && { open: true }) };
  const list = usePages(
    ["operations", query],
    (page, signal) => call("GET /operations", { query: { ...query, ...page } }, { signal }),
    ({ operations }) => operations,
  );
  return (
    <ListPage
      title="Operations"
      facts="Every retry, edit and discard of letters, newest first"
      command={`redrive ops list${queue ? ` --job ${quoted(queue)}` : ""}${state === "open" ? " --open" : ""}`}
      list={list}
      filters={[
        { key: "state", label: "State", values: ["all", "open"], as: "chips" },
        { key: "queue", label: "queue", as: "applied" },
      ]}
      label="Operations"
      columns={COLUMNS}
      rowHeight={48}
      keyOf={({ operation_id }) => operation_id}
      onOpen={({ operation_id: id }) => void navigate({ to: "/operations/$id", params: { id } })}
      empty={{
        title: "Nothing was changed yet.",
        command: "redrive dlq retry --help",
        children: <p>A retry, an edit or a discard of letters appears here, with its progress and author.</p>,
      }}
    />
  );
}
