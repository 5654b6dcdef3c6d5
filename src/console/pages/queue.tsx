/** One queue: its items by state, workers and settings, with pause and a form to add an item. */
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { dataText } from "../data/letter.ts";
import { quoted } from "../data/search.ts";
import { May } from "../shell/session.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Facts } from "../ui/facts.tsx";
import { Chips } from "../ui/filter.tsx";
import { countText, machineName, middle, plural } from "../ui/numbers.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { durationText, Time } from "../ui/time.tsx";
import { QueueState } from "./queues.tsx";

const route = getRouteApi("/queues/$name");
type QueueDetails = ResponseOf<"GET /queues/{queue}">;
type Item = ResponseOf<"GET /items">["items"][number];

const STATES = ["ready", "leased", "held", "done", "dead", "skipped", "discarded"] as const;

export function Queue() {
  const { name } = route.useParams();
  const queue = useQuery({
    queryKey: ["queue", name],
    queryFn: ({ signal }) => call("GET /queues/{queue}", { params: { queue: name } }, { signal }),
  });
  if (queue.error) return <ErrorPanel error={queue.error} retry={() => void queue.refetch()} />;
  if (!queue.data) return <Skeleton rows={6} />;
  return <Shown queue={queue.data} />;
}

function Shown({ queue }: { readonly queue: QueueDetails }) {
  const { name, counts } = queue;
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <Heading
        title={name}
        facts={
          <>
            <QueueState queue={queue} />
            <span>{plural(queue.workers.length, "worker")}</span>
            {queue.oldest_ready_ms !== null && (
              <span>oldest ready item waits {durationText(queue.oldest_ready_ms)}</span>
            )}
            <Link
              to="/letters"
              search={{ queue: name }}
              className={(counts.letters ?? 0) > 0 ? "text-red hover:underline" : "hover:underline"}
            >
              {countText(counts.letters ?? 0)} letters
            </Link>
          </>
        }
        command={`redrive queue show ${quoted(name)}`}
        actions={
          <May atLeast="operator">
            <PauseButton queue={queue} />
            <Button onClick={() => setAdding(true)}>Add an item…</Button>
          </May>
        }
      />
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <Items queue={name} counts={counts} />
        <div className="min-w-0 space-y-3">
          <Panel title="Settings">
            <Facts
              facts={Object.entries(queue.settings).map(([key, value]) => [
                key.replaceAll("_", " "),
                settingText(value),
              ])}
            />
          </Panel>
          <Panel title="Workers">
            {queue.workers.length === 0 && (
              <Empty
                title="No worker is alive."
                command={`redrive worker --queue ${quoted(name)} -- ./process {}`}
              />
            )}
            <ul className="divide-y divide-line">
              {queue.workers.map(({ holder, host, pid, leased }) => (
                <li key={holder} className="flex flex-wrap gap-x-3 px-3 py-2">
                  <span className="font-medium">{machineName(host)}</span>
                  <span className="text-muted">process {pid}</span>
                  <span className="text-muted">{countText(leased)} running</span>
                </li>
              ))}
            </ul>
          </Panel>
        </div>
      </div>
      {isAdding && <AddItem queue={queue} onClose={() => setAdding(false)} />}
    </>
  );
}

function settingText(value: unknown): string {
  if (value === null) return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function PauseButton({ queue }: { readonly queue: QueueDetails }) {
  const client = useQueryClient();
  const params = { queue: queue.name };
  const change = useMutation<unknown>({
    mutationFn: () =>
      queue.is_paused
        ? call("POST /queues/{queue}/resume", { params })
        : call("POST /queues/{queue}/pause", { params, body: {} }),
    onSuccess: () => client.invalidateQueries(),
  });
  return (
    <>
      <Button onClick={() => change.mutate()}>{queue.is_paused ? "Resume" : "Pause"}</Button>
      {change.error && <ErrorPanel error={change.error} />}
    </>
  );
}

const COLUMNS: readonly Column<Item>[] = [
  {
    key: "item",
    title: "Item",
    track: "minmax(0, 1fr)",
    cell: ({ queue, item_id: item, data }) => (
      <Link to="/items/$queue/$item" params={{ queue, item }} className="block leading-5 hover:underline">
        <span className="block truncate font-medium">{middle(item, 40)}</span>
        <span className="block truncate font-mono text-xs text-muted">{dataText(data)}</span>
      </Link>
    ),
  },
  { key: "priority", title: "Priority", track: "72px", secondary: true, cell: ({ priority }) => priority },
  {
    key: "tries",
    title: "Attempts",
    track: "76px",
    align: "right",
    secondary: true,
    cell: ({ attempts }) => countText(attempts),
  },
  { key: "due", title: "Due", track: "90px", cell: ({ due_at }) => <Time at={due_at} /> },
  { key: "state", title: "State", track: "96px", cell: ({ state }) => <State name={state} /> },
];

function Items({ queue, counts }: { readonly queue: string; readonly counts: QueueDetails["counts"] }) {
  const navigate = useNavigate();
  const [state, setState] = useState<(typeof STATES)[number]>("ready");
  const items = useInfiniteQuery({
    queryKey: ["items", queue, state],
    queryFn: ({ pageParam, signal }) =>
      call(
        "GET /items",
        { query: { queue, state: [state], limit: 100, ...(pageParam !== "" && { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
  });
  const rows = items.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Panel
      title={`Items, ${countText(counts[state] ?? 0)} ${state === "leased" ? "running" : state}`}
      actions={<Chips label="State" values={STATES} value={state} onChange={setState} />}
    >
      {items.isPending && <Skeleton />}
      {items.error && <ErrorPanel error={items.error} />}
      {items.data && rows.length === 0 && <Empty title={`No item is ${state}.`} />}
      {rows.length > 0 && (
        <Table
          label="Items"
          columns={COLUMNS}
          rows={rows}
          rowHeight={48}
          keyOf={({ item_id }) => item_id}
          onOpen={({ item_id: item }) =>
            void navigate({ to: "/items/$queue/$item", params: { queue, item } })
          }
          onEndReached={() => {
            if (items.hasNextPage && !items.isFetchingNextPage) void items.fetchNextPage();
          }}
        />
      )}
    </Panel>
  );
}

const FIELD = "mt-1 w-full rounded-md border border-line-strong bg-panel px-2 py-1";

/** The form starts with the fields that the schema of the queue names. */
function AddItem({ queue, onClose }: { readonly queue: QueueDetails; readonly onClose: () => void }) {
  const client = useQueryClient();
  const [text, setText] = useState(() => JSON.stringify(exampleOf(queue.settings.schema), null, 2));
  const [key, setKey] = useState("");
  const add = useMutation({
    mutationFn: async () => {
      const item = { data: JSON.parse(text) as unknown, ...(key !== "" && { key }) };
      const { results } = await call("POST /queues/{queue}/items", {
        params: { queue: queue.name },
        body: { items: [item] },
      });
      const [result] = results;
      if (result?.outcome === "refused") throw new Error(`The item was refused: ${result.reason}`);
      return result;
    },
    onSuccess: () => {
      onClose();
      return client.invalidateQueries();
    },
  });
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <Dialog title={`Add an item to ${queue.name}`} onClose={onClose}>
      <form className="grid gap-3" onSubmit={onSubmit}>
        <label>
          Data (JSON)
          <textarea
            rows={10}
            required
            value={text}
            onChange={(event) => setText(event.target.value)}
            className={`${FIELD} font-mono text-xs`}
          />
        </label>
        <label>
          Key <span className="text-xs text-muted">its id in the queue; empty for a random one</span>
          <input value={key} onChange={(event) => setKey(event.target.value)} className={FIELD} />
        </label>
        {add.error && <ErrorPanel error={add.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary">
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

const EXAMPLES: Readonly<Record<string, unknown>> = {
  string: "",
  number: 0,
  integer: 0,
  boolean: false,
  array: [],
  null: null,
};

function exampleOf(schema: unknown): unknown {
  if (typeof schema !== "object" || schema === null) return {};
  const { type, properties } = schema as { type?: string; properties?: Record<string, unknown> };
  if (type !== undefined && type !== "object") return EXAMPLES[type] ?? null;
  return Object.fromEntries(
    Object.entries(properties ?? {}).map(([name, inner]) => [name, exampleOf(inner)]),
  );
}
