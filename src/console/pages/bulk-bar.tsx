/** The bar above a list of letters. Shows which letters an action applies to, and the actions. */
import type { Letter } from "../data/letter.ts";
import type { ListSearch } from "../data/search.ts";
import { Button } from "../ui/button.tsx";
import { countText, plural } from "../ui/numbers.ts";
import type { BulkKind, BulkTarget } from "./bulk.tsx";
import { letterKey } from "./letter-columns.tsx";

/** The letters that an action applies to: the selected rows, or all matching letters in one queue. */
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
    <div
      className={`flex flex-wrap items-center gap-2 border-b border-line px-3 py-2 ${target === null ? "max-sm:hidden" : ""}`}
    >
      <span className="mr-2 text-muted max-sm:w-full">{scope}</span>
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
