/** Letters: every item that failed, with filters. */
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Letter } from "../data/letter.ts";
import { useLetterCount, useLetters } from "../data/letters.ts";
import { useListSearch } from "../data/list-search.ts";
import {
  ERROR_CLASSES,
  LETTER_ORDERS,
  LETTER_STATES,
  type ListSearch,
  letterOptions,
} from "../data/search.ts";
import { useKeys } from "../shell/keys.ts";
import { May, useMay } from "../shell/session.tsx";
import { Button } from "../ui/button.tsx";
import { type Filter, ListPage } from "../ui/list-page.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { useRowSelection } from "../ui/selection.ts";
import { BulkDialog, type BulkKind, type BulkTarget } from "./bulk.tsx";
import { letterColumns, letterKey } from "./letter-columns.tsx";

const FILTERS: readonly Filter<Letter>[] = [
  { key: "state", label: "State", values: LETTER_STATES, as: "chips" },
  { key: "class", label: "Error class", values: ["any class", ...ERROR_CLASSES] },
  { key: "sort", label: "Order", values: LETTER_ORDERS },
  { key: "q", label: "Search messages" },
  { key: "filter", label: "CEL filter, e.g. item.total > 100", as: "wide" },
  { key: "queue", label: "queue", as: "applied" },
  { key: "group", label: "group", as: "applied" },
  { key: "older_than", label: "older than", as: "applied" },
];

export function Letters() {
  const [search] = useListSearch();
  const navigate = useNavigate();
  const letters = useLetters(search);
  const total = useLetterCount(search);
  const { selected, select, clear } = useRowSelection(letters.rows.map(letterKey));
  const [bulk, setBulk] = useState<BulkKind | null>(null);
  const target = targetOf(search, letters.rows, selected);
  const mayChange = useMay("operator");
  useKeys(
    mayChange && target !== null
      ? { r: () => setBulk("retry"), e: () => setBulk("edit"), d: () => setBulk("discard") }
      : {},
  );
  return (
    <ListPage
      title="Letters"
      facts={total.data && plural(total.data.total, "letter")}
      command={`redrive dlq list ${letterOptions(search)}`.trim()}
      list={letters}
      filters={FILTERS}
      above={
        <May atLeast="operator">
          <BulkBar
            count={selected.size}
            target={target}
            total={total.data?.total}
            onStart={setBulk}
            onClear={clear}
          />
        </May>
      }
      label="Letters"
      columns={letterColumns(search)}
      rowHeight={48}
      keyOf={letterKey}
      onOpen={({ queue, item_id: item }) =>
        void navigate({ to: "/letters/$queue/$item", params: { queue, item }, search })
      }
      selected={selected}
      onSelect={select}
      empty={{
        title: "There are no letters.",
        command: "redrive demo",
        children: <p>An item becomes a letter when it has used all of its retries.</p>,
      }}
    >
      {bulk !== null && target !== null && (
        <BulkDialog kind={bulk} target={target} onClose={() => setBulk(null)} onStarted={clear} />
      )}
    </ListPage>
  );
}

/** The letters that an action would change: the selected rows, or all that match in one queue. */
export function targetOf(
  search: ListSearch,
  rows: readonly Pick<Letter, "queue" | "item_id">[],
  selected: ReadonlySet<string>,
): BulkTarget | null {
  const chosen = rows.filter((row) => selected.has(letterKey(row)));
  const [first] = chosen;
  if (first !== undefined) {
    const isOneQueue = chosen.every(({ queue }) => queue === first.queue);
    return isOneQueue ? { queue: first.queue, ids: chosen.map(({ item_id }) => item_id) } : null;
  }
  return search.queue === undefined ? null : { queue: search.queue, search };
}

interface BulkBarProps {
  readonly count: number;
  readonly target: BulkTarget | null;
  readonly total: number | undefined;
  readonly onStart: (kind: BulkKind) => void;
  readonly onClear: () => void;
}

const ACTIONS = [
  ["retry", "Retry…", "r", "plain"],
  ["edit", "Edit…", "e", "plain"],
  ["discard", "Discard…", "d", "danger"],
] as const;

export function BulkBar({ count, target, total, onStart, onClear }: BulkBarProps) {
  const why = count > 0 ? "Select letters of one queue only." : "Select letters, or filter by a queue first.";
  const scope =
    count > 0
      ? `${plural(count, "letter")} selected`
      : target === null
        ? "Nothing selected"
        : `All ${total === undefined ? "" : countText(total)} letters that match`;
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
      <span className="mr-2 text-muted">{scope}</span>
      {ACTIONS.map(([kind, label, hotkey, tone]) => (
        <Button
          key={kind}
          tone={tone}
          hotkey={hotkey}
          disabled={target === null}
          title={target === null ? why : undefined}
          onClick={() => onStart(kind)}
        >
          {label}
        </Button>
      ))}
      {count > 0 && (
        <Button tone="quiet" onClick={onClear}>
          Clear selection
        </Button>
      )}
    </div>
  );
}
