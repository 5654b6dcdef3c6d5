/** Letters: every item that failed, with filters. */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useLetterCount, useLetters } from "../data/letters.ts";
import { ERROR_CLASSES, LETTER_STATES, type LetterSearch, letterOptions } from "../data/search.ts";
import { useKeys } from "../shell/keys.ts";
import { May, useMay } from "../shell/session.tsx";
import { Button } from "../ui/button.tsx";
import { Chips, SearchBox } from "../ui/filter.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { useRowSelection } from "../ui/selection.ts";
import { BulkDialog, type BulkKind, type BulkTarget } from "./bulk.tsx";
import { LetterTable, letterKey } from "./letter-table.tsx";

const route = getRouteApi("/letters");

export function Letters() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/letters" });
  const change = (next: { readonly [Key in keyof LetterSearch]?: LetterSearch[Key] | undefined }) =>
    void navigate({ search: (old) => ({ ...old, ...next }) as LetterSearch, replace: true });
  const letters = useLetters(search);
  const total = useLetterCount(search);
  const { selected, select, clear } = useRowSelection(letters.rows.map(letterKey));
  const [bulk, setBulk] = useState<BulkKind | null>(null);
  const target = targetOf(search, letters.rows, selected);
  const mayChange = useMay("operator");
  useKeys(mayChange && target !== null ? { r: () => setBulk("retry"), d: () => setBulk("discard") } : {});
  return (
    <>
      <Heading
        title="Letters"
        facts={total.data && plural(total.data.total, "letter")}
        command={`redrive dlq list ${letterOptions(search)}`.trim()}
      />
      <Filters search={search} onChange={change} />
      <Panel>
        <May atLeast="operator">
          <BulkBar
            count={selected.size}
            target={target}
            total={total.data?.total}
            onStart={setBulk}
            onClear={clear}
          />
        </May>
        {letters.isPending && <Skeleton rows={8} />}
        {letters.error && <ErrorPanel error={letters.error} retry={() => void letters.refetch()} />}
        {letters.data && letters.rows.length === 0 && (
          <NoLetters hasFilter={Object.keys(search).length > 0} />
        )}
        {letters.rows.length > 0 && (
          <LetterTable
            rows={letters.rows}
            search={search}
            onEndReached={letters.readMore}
            selected={selected}
            onSelect={select}
          />
        )}
      </Panel>
      {bulk !== null && target !== null && (
        <BulkDialog kind={bulk} target={target} onClose={() => setBulk(null)} onStarted={clear} />
      )}
    </>
  );
}

/** The letters that an action would change: the selected rows, or all that match in one queue. */
function targetOf(
  search: LetterSearch,
  rows: readonly { readonly queue: string; readonly item_id: string }[],
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

function BulkBar({ count, target, total, onStart, onClear }: BulkBarProps) {
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
      <Button
        hotkey="r"
        disabled={target === null}
        title={target === null ? why : undefined}
        onClick={() => onStart("retry")}
      >
        Retry…
      </Button>
      <Button
        disabled={target === null}
        title={target === null ? why : undefined}
        onClick={() => onStart("edit")}
      >
        Edit…
      </Button>
      <Button
        tone="danger"
        hotkey="d"
        disabled={target === null}
        title={target === null ? why : undefined}
        onClick={() => onStart("discard")}
      >
        Discard…
      </Button>
      {count > 0 && (
        <Button tone="quiet" onClick={onClear}>
          Clear selection
        </Button>
      )}
    </div>
  );
}

interface FiltersProps {
  readonly search: LetterSearch;
  readonly onChange: (next: { readonly [Key in keyof LetterSearch]?: LetterSearch[Key] | undefined }) => void;
}

function Filters({ search, onChange }: FiltersProps) {
  const { state = "dead", queue, group, class: errorClass, q, filter } = search;
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <Chips
        label="State"
        values={LETTER_STATES}
        value={state}
        onChange={(next) => onChange({ state: next })}
      />
      <select
        aria-label="Error class"
        value={errorClass ?? ""}
        onChange={(event) => onChange({ class: ERROR_CLASSES.find((one) => one === event.target.value) })}
        className="rounded-md border border-line-strong bg-panel px-2 py-1"
      >
        <option value="">any class</option>
        {ERROR_CLASSES.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <SearchBox
        label="Search messages"
        value={q ?? ""}
        onChange={(next) => onChange({ q: next || undefined })}
      />
      <SearchBox
        wide
        label="CEL filter, e.g. item.total > 100"
        value={filter ?? ""}
        onChange={(next) => onChange({ filter: next || undefined })}
      />
      {queue !== undefined && (
        <Applied text={`queue: ${queue}`} onRemove={() => onChange({ queue: undefined })} />
      )}
      {group !== undefined && (
        <Applied text={`group: ${group.slice(0, 8)}`} onRemove={() => onChange({ group: undefined })} />
      )}
    </div>
  );
}

function Applied({ text, onRemove }: { readonly text: string; readonly onRemove: () => void }) {
  return (
    <button
      type="button"
      className="rounded-full border border-accent bg-accent-soft px-2.5 py-0.5 text-xs text-accent"
      onClick={onRemove}
      title="Remove this filter"
    >
      {text} ✕
    </button>
  );
}

function NoLetters({ hasFilter }: { readonly hasFilter: boolean }) {
  if (hasFilter) return <Empty title="No letter matches this filter." />;
  return (
    <Empty title="There are no letters." command="redrive demo">
      <p>An item becomes a letter when it has used all of its retries.</p>
    </Empty>
  );
}
