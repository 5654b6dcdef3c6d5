/**
 * The items of a queue or job in one state, which is stored in the URL. Waiting items can be held, and held
 * items released.
 */
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { dataText } from "../data/letter.ts";
import { usePages } from "../data/list.ts";
import { useListSearch } from "../data/list-search.ts";
import { oneOf } from "../data/search.ts";
import { countColumn, LINK, textColumn, timeColumn } from "../ui/columns.tsx";
import { Chips } from "../ui/filter.tsx";
import { ItemName } from "../ui/item-name.tsx";
import { ListTable } from "../ui/list-page.tsx";
import { countText } from "../ui/numbers.ts";
import { Panel } from "../ui/panel.tsx";
import { wordOf } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";

type Item = ResponseOf<"GET /items">["items"][number];

const STATES = ["ready", "leased", "held", "done", "dead", "skipped", "discarded"] as const;

function isWaiting(state: string): boolean {
  return state === "ready" || state === "held";
}

const COLUMNS: readonly Column<Item>[] = [
  {
    key: "item",
    title: "Item",
    track: "minmax(0, 1fr)",
    cell: ({ queue, item_id: item, data, name }) => (
      <Link to="/items/$queue/$item" params={{ queue, item }} className={LINK}>
        <ItemName id={item} data={data} name={name} />
      </Link>
    ),
  },
  textColumn("priority", "Priority", ({ priority }) => (priority === "normal" ? "" : priority), {
    track: "72px",
    secondary: true,
  }),
  textColumn("result", "Result", ({ result }) => dataText(result ?? ""), {
    line: true,
    cell: ({ result }) => <span className="font-mono text-xs text-muted">{dataText(result ?? "")}</span>,
  }),
  countColumn("tries", "Attempts", ({ attempts }) => attempts, { track: "84px" }),
  // The due time of an item that has ended is no longer of interest.
  timeColumn("due", "Due", ({ state, due_at }) => (isWaiting(state) ? due_at : null)),
];

/** Columns that say something about some items only. */
const OF_STATE: Readonly<Record<string, (state: string, rows: readonly Item[]) => boolean>> = {
  due: isWaiting,
  priority: isWaiting,
  result: (_state, rows) => rows.some(({ result }) => result !== undefined),
};

interface ItemListProps {
  readonly queue: string;
  /** The state to show first. Default: the first one that has items. */
  readonly fallback?: (typeof STATES)[number];
  readonly counts?: Readonly<Record<string, number>>;
  readonly maxHeight?: string;
}

/** States in the order in which they are preferred as the initial choice. Running items have a list of their own. */
const FIRST = ["ready", "dead", "held", "leased", "done"] as const;

export function ItemList({ queue, counts = {}, maxHeight, ...props }: ItemListProps) {
  const fallback = props.fallback ?? FIRST.find((state) => (counts[state] ?? 0) > 0) ?? "ready";
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
      title="Items"
      actions={
        <Chips
          label="State"
          values={STATES}
          value={state}
          labelOf={(one) => [wordOf(one), counts[one] && countText(counts[one])].filter(Boolean).join(" ")}
          onChange={(next) => change({ state: next === fallback ? undefined : next })}
        />
      }
    >
      <ListTable
        list={items}
        label="Items"
        columns={COLUMNS.filter(({ key }) => OF_STATE[key]?.(state, items.rows) ?? true)}
        rowHeight={48}
        maxHeight={maxHeight}
        keyOf={({ item_id }) => item_id}
        onOpen={({ item_id: item }) => void navigate({ to: "/items/$queue/$item", params: { queue, item } })}
        empty={{ title: `No item is ${wordOf(state)}.` }}
      />
    </Panel>
  );
}
