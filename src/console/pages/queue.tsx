/** One queue: its items by state, workers and settings, with pause and a form to add an item. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { dataText } from "../data/letter.ts";
import { usePages } from "../data/list.ts";
import { useListSearch } from "../data/list-search.ts";
import { oneOf, quoted } from "../data/search.ts";
import { May } from "../shell/session.tsx";
import { PauseAction } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { countColumn, LINK, TwoLines, textColumn, timeColumn } from "../ui/columns.tsx";
import { Facts } from "../ui/facts.tsx";
import { Chips } from "../ui/filter.tsx";
import { Field, FormDialog, INPUT, TextField } from "../ui/form.tsx";
import { ListTable } from "../ui/list-page.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { countText, machineName, middle, plural } from "../ui/numbers.ts";
import { Empty, Heading, Panel } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";
import { durationText } from "../ui/time.tsx";
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
  return <Loaded query={queue}>{(data) => <Shown queue={data} />}</Loaded>;
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
            <PauseAction
              isPaused={queue.is_paused}
              pause={() => call("POST /queues/{queue}/pause", { params: { queue: name }, body: {} })}
              resume={() => call("POST /queues/{queue}/resume", { params: { queue: name } })}
            />
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

const COLUMNS: readonly Column<Item>[] = [
  {
    key: "item",
    title: "Item",
    track: "minmax(0, 1fr)",
    cell: ({ queue, item_id: item, data }) => (
      <Link to="/items/$queue/$item" params={{ queue, item }} className={LINK}>
        <TwoLines
          mono
          first={<span className="font-sans">{middle(item, 40)}</span>}
          second={dataText(data)}
        />
      </Link>
    ),
  },
  textColumn("priority", "Priority", ({ priority }) => priority, { track: "72px", secondary: true }),
  countColumn("tries", "Attempts", ({ attempts }) => attempts, { track: "76px" }),
  timeColumn("due", "Due", ({ due_at }) => due_at),
  {
    key: "state",
    title: "State",
    track: "96px",
    aside: true,
    cell: ({ state }) => <State name={state} />,
  },
];

function Items({ queue, counts }: { readonly queue: string; readonly counts: QueueDetails["counts"] }) {
  const navigate = useNavigate();
  const [search, change] = useListSearch();
  const state = oneOf(STATES, search.state) ?? "ready";
  const items = usePages(
    ["items", queue, state],
    (page, signal) => call("GET /items", { query: { queue, state: [state], ...page } }, { signal }),
    (page) => page.items,
  );
  return (
    <Panel
      title={`Items, ${countText(counts[state] ?? 0)} ${state === "leased" ? "running" : state}`}
      actions={
        <Chips
          label="State"
          values={STATES}
          value={state}
          onChange={(next) => change({ state: next === "ready" ? undefined : next })}
        />
      }
    >
      <ListTable
        list={items}
        label="Items"
        columns={COLUMNS}
        rowHeight={48}
        keyOf={({ item_id }) => item_id}
        onOpen={({ item_id: item }) => void navigate({ to: "/items/$queue/$item", params: { queue, item } })}
        empty={{ title: `No item is ${state === "leased" ? "running" : state}.` }}
      />
    </Panel>
  );
}

/** The form starts with the fields that the schema of the queue names. */
function AddItem({ queue, onClose }: { readonly queue: QueueDetails; readonly onClose: () => void }) {
  const [text, setText] = useState(() => JSON.stringify(exampleOf(queue.settings.schema), null, 2));
  const [key, setKey] = useState("");
  const add = async () => {
    const item = { data: JSON.parse(text) as unknown, ...(key !== "" && { key }) };
    const params = { queue: queue.name };
    const { results } = await call("POST /queues/{queue}/items", { params, body: { items: [item] } });
    const [result] = results;
    if (result?.outcome === "refused") throw new Error(`The item was refused: ${result.reason}`);
    return result;
  };
  return (
    <FormDialog title={`Add an item to ${queue.name}`} submit="Add" onClose={onClose} act={add}>
      <Field label="Data" hint="JSON">
        {(id) => (
          <textarea
            id={id}
            rows={10}
            required
            value={text}
            onChange={(event) => setText(event.target.value)}
            className={`${INPUT} font-mono text-xs`}
          />
        )}
      </Field>
      <TextField
        label="Key"
        hint="its id in the queue; empty for a random one"
        value={key}
        onChange={setKey}
      />
    </FormDialog>
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
