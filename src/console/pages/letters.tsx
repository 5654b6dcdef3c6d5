/** The letters page: all failed items, with filters. */
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Letter } from "../data/letter.ts";
import { useLetterCount, useLetters } from "../data/letters.ts";
import { useListSearch } from "../data/list-search.ts";
import { ERROR_CLASSES, LETTER_ORDERS, LETTER_STATES, letterOptions } from "../data/search.ts";
import { useKeys } from "../shell/keys.ts";
import { May, useMay } from "../shell/session.tsx";
import { type Filter, ListPage } from "../ui/list-page.tsx";
import { plural } from "../ui/numbers.ts";
import { useRowSelection } from "../ui/selection.ts";
import { BulkDialog, type BulkKind } from "./bulk.tsx";
import { BulkBar, targetOf } from "./bulk-bar.tsx";
import { letterColumns, letterKey, letterWord } from "./letter-columns.tsx";

const ORDER_TEXTS: Readonly<Record<string, string>> = {
  newest: "newest first",
  oldest: "oldest first",
  attempts: "most tries first",
  item: "by item",
  type: "by error type",
};

const FILTERS: readonly Filter<Letter>[] = [
  { key: "state", label: "State", values: LETTER_STATES, as: "chips", labelOf: letterWord },
  { key: "class", label: "Error class", values: ["any class", ...ERROR_CLASSES] },
  { key: "sort", label: "Order", values: LETTER_ORDERS, labelOf: (order) => ORDER_TEXTS[order] ?? order },
  { key: "q", label: "Search messages" },
  { key: "filter", label: "CEL filter, e.g. item.total > 100", as: "wide" },
  { key: "queue", label: "queue", as: "applied" },
  { key: "group", label: "group", as: "applied" },
  { key: "older_than", label: "older than", as: "applied" },
  { key: "newer_than", label: "newer than", as: "applied" },
];

export function Letters() {
  const [search] = useListSearch();
  const navigate = useNavigate();
  const letters = useLetters(search);
  const total = useLetterCount(search);
  const { selected, select, clear } = useRowSelection(letters.rows, letterKey);
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
