/**
 * The selected rows of a list. Live updates are paused while rows are selected, so that rows do not move
 * under the pointer.
 */
import { useEffect, useState } from "react";
import { pauseLive } from "../data/live.ts";
import { useKeys } from "../shell/keys.ts";

/** The keys of all rows are computed only for a range selection, because a list may have 100,000 rows. */
export function useRowSelection<Row>(rows: readonly Row[], keyOf: (row: Row) => string) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [anchor, setAnchor] = useState<string>();
  const clear = () => setSelected(new Set());
  const select = (key: string, range: boolean) => {
    const next = new Set(selected);
    const many = range ? between(rows.map(keyOf), anchor ?? key, key) : [key];
    const isOn = !selected.has(key);
    for (const one of many) isOn ? next.add(one) : next.delete(one);
    setAnchor(key);
    setSelected(next);
  };
  useEffect(() => {
    pauseLive(selected.size > 0, "selection");
    return () => pauseLive(false, "selection");
  }, [selected.size]);
  useKeys({ Escape: clear });
  return { selected, select, clear };
}

/** The keys between two rows, inclusive, in list order. */
function between(keys: readonly string[], one: string, other: string): readonly string[] {
  const [from = -1, to = -1] = [keys.indexOf(one), keys.indexOf(other)].sort((a, b) => a - b);
  return from < 0 ? [other] : keys.slice(from, to + 1);
}
