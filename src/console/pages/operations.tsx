/** The operations page: all bulk changes, newest first. */
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { usePages } from "../data/list.ts";
import { useListSearch } from "../data/list-search.ts";
import { quoted } from "../data/search.ts";
import { May } from "../shell/session.tsx";
import { Action } from "../ui/action.tsx";
import { countColumn, LINK, TwoLines, textColumn, timeColumn } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { countText } from "../ui/numbers.ts";
import { Progress } from "../ui/progress.tsx";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";

export type Operation = ResponseOf<"GET /operations">["operations"][number];

/** An open operation without pending letters has sent all of them and waits for their attempts. */
export function operationState({ status, ended_at: endedAt }: Operation): string {
  return endedAt === undefined && status === "open" ? "running" : status;
}

const TITLES: Readonly<Record<string, string>> = { redrive: "Retry", requeue: "Requeue as new" };

/** The kind and the queue of an operation, e.g. `Retry in orders`. */
export function operationTitle({ kind, job_id }: Pick<Operation, "kind" | "job_id">): string {
  return `${TITLES[kind] ?? `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`} in ${job_id}`;
}

/** The number of letters with the intended result; a retried one must have succeeded. */
export function wellDone({ kind, succeeded, done }: Operation): number {
  return kind === "redrive" ? succeeded : done;
}

export function OperationState({ operation }: { readonly operation: Operation }) {
  const state = operationState(operation);
  const isBad = state === "ended" && operation.failed > 0;
  return <State name={isBad ? "interrupted" : state} label={state} />;
}

const UNDOABLE: readonly string[] = ["edit", "discard", "restore", "purge", "clear"];

/** Undoes the operation, if that is possible. */
export function UndoAction({ operation }: { readonly operation: Operation }) {
  const { operation_id, kind, ended_at: endedAt } = operation;
  if (endedAt === undefined || !UNDOABLE.includes(kind)) return null;
  return (
    <May atLeast="operator">
      <Action
        label="Undo"
        act={() => call("POST /operations/{operation_id}/undo", { params: { operation_id } })}
      />
    </May>
  );
}

const COLUMNS: readonly Column<Operation>[] = [
  {
    key: "what",
    title: "Operation",
    track: "minmax(0, 1fr)",
    cell: ({ operation_id: id, reason, ...operation }) => (
      <Link to="/operations/$id" params={{ id }} className={LINK}>
        <TwoLines first={operationTitle(operation)} second={reason ?? id} />
      </Link>
    ),
  },
  {
    key: "progress",
    title: "Progress",
    track: "150px",
    secondary: true,
    cell: (operation) => (
      <Progress
        done={wellDone(operation)}
        dead={operation.failed + operation.refused}
        total={operation.selected}
      />
    ),
  },
  countColumn("selected", "Letters", ({ selected }) => selected),
  countColumn("done", "Done", wellDone),
  countColumn("failed", "Failed again", ({ failed }) => failed, {
    track: "104px",
    secondary: true,
    cell: ({ failed }) => (
      <span className={failed > 0 ? "font-medium text-red" : ""}>{countText(failed)}</span>
    ),
  }),
  countColumn("refused", "Refused", ({ refused }) => refused, { secondary: true }),
  textColumn("author", "By", ({ author }) => author, { track: "130px" }),
  timeColumn("at", "Started", ({ created_at }) => created_at),
  {
    key: "state",
    title: "State",
    track: "104px",
    aside: true,
    sort: operationState,
    cell: (operation) => <OperationState operation={operation} />,
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
