/** The items of a queue or job in one state, which is in the address. Items that wait or are held can be held and released. */
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { dataText } from "../data/letter.ts";
import { usePages } from "../data/list.ts";
import { useListSearch } from "../data/list-search.ts";
import { oneOf } from "../data/search.ts";
import { countColumn, LINK, TwoLines, textColumn, timeColumn } from "../ui/columns.tsx";
import { Chips } from "../ui/filter.tsx";
import { ListTable } from "../ui/list-page.tsx";
import { countText, middle } from "../ui/numbers.ts";
import { Panel } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";

type Item = ResponseOf<"GET /items">["items"][number];

const STATES = ["ready", "leased", "held", "done", "dead", "skipped", "discarded"] as const;

/** `leased` is the word of queues; people look for what is running. */
function wordOf(state: string): string {
  return state === "leased" ? "running" : state;
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

interface ItemListProps {
  readonly queue: string;
  /** The state that is shown first. */
  readonly fallback: (typeof STATES)[number];
  readonly counts?: Readonly<Record<string, number>>;
  readonly maxHeight?: string;
}

export function ItemList({ queue, fallback, counts, maxHeight }: ItemListProps) {
  const navigate = useNavigate();
  const [search, change] = useListSearch();
  const state = oneOf(STATES, search.state) ?? fallback;
  const items = usePages(
    ["items", queue, state],
    (page, signal) => call("GET /items", { query: { queue, state: [state], ...page } }, { signal }),
    (page) => page.items,
  );
  return (
    <Panel
      title={counts === undefined ? "Items" : `Items, ${countText(counts[state] ?? 0)} ${wordOf(state)}`}
      actions={
        <Chips
          label="State"
          values={STATES}
          value={state}
          onChange={(next) => change({ state: next === fallback ? undefined : next })}
        />
      }
    >
      <ListTable
        list={items}
        label="Items"
        columns={COLUMNS}
        rowHeight={48}
        maxHeight={maxHeight}
        keyOf={({ item_id }) => item_id}
        onOpen={({ item_id: item }) => void navigate({ to: "/items/$queue/$item", params: { queue, item } })}
        empty={{ title: `No item is ${wordOf(state)}.` }}
      />
    </Panel>
  );
}
