/**
 * The preview of a bulk change: how many letters, which are refused and why, which groups, and some of the
 * changes.
 */
import type { ResponseOf } from "../../server/contract.ts";
import { MiddleText } from "../ui/middle-text.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { Pattern } from "../ui/pattern.tsx";
import { Differences } from "./letter-data.tsx";

export type Selection = ResponseOf<"POST /selections">;

interface PreviewProps {
  readonly selection: Selection | undefined;
  readonly isFresh: boolean;
  /** What happens to the letters, e.g. `will be retried`. */
  readonly effect: string;
}

const GROUPS_MAX = 5;

export function BulkPreview({ selection, isFresh, effect }: PreviewProps) {
  if (selection === undefined)
    return (
      <p role="status" className="rounded-md border border-line bg-code p-3 text-muted">
        Selecting the letters…
      </p>
    );
  const { count, refused, refusals, groups, samples } = selection;
  return (
    <section
      aria-label="Preview"
      aria-busy={!isFresh}
      className={`rounded-md border border-line bg-code p-3 ${isFresh ? "" : "opacity-60"}`}
    >
      <p className="text-base font-semibold">
        {plural(count - refused, "letter")} {effect}
        {refused > 0 && <span className="text-amber">, {countText(refused)} refused</span>}.
      </p>
      <p className="text-xs text-muted">Letters that fail from now on are not included.</p>
      {refusals.length > 0 && (
        <ul className="mt-2 text-muted">
          {refusals.map(({ reason, count: times }) => (
            <li key={reason}>
              {countText(times)} × {reason}
            </li>
          ))}
        </ul>
      )}
      {groups.length > 1 && (
        <ul className="mt-2 space-y-0.5">
          {groups.slice(0, GROUPS_MAX).map(({ signature, title, count: letters }) => (
            <li key={signature} className="flex gap-2">
              <span className="w-12 shrink-0 text-right">{countText(letters)}</span>
              <Pattern text={title} className="min-w-0 truncate" />
            </li>
          ))}
          {groups.length > GROUPS_MAX && (
            <li className="pl-14 text-muted">and {plural(groups.length - GROUPS_MAX, "more group")}</li>
          )}
        </ul>
      )}
      <Samples samples={samples} />
    </section>
  );
}

function Samples({ samples }: { readonly samples: Selection["samples"] }) {
  const changed = samples.filter(({ changes }) => changes !== undefined);
  if (changed.length === 0) {
    const names = samples.map(({ item_id }) => item_id).join(", ");
    return names === "" ? null : <p className="mt-2 truncate text-xs text-muted">For example {names}</p>;
  }
  return (
    <dl className="mt-3 grid grid-cols-1 gap-x-4 gap-y-1 border-t border-line pt-2 text-xs sm:grid-cols-[minmax(0,1fr)_minmax(0,2fr)]">
      {changed.map(({ item_id: id, changes = [] }) => (
        <div key={id} className="contents">
          <dt className="min-w-0 pt-0.5 text-muted">
            <MiddleText text={id} className="font-mono" />
          </dt>
          <dd className="min-w-0">
            <Differences changes={changes} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
