/** Which rows of a list are selected. Live updates pause while any is, so that rows do not move under the pointer. */
import { useEffect, useState } from "react";
import { pauseLive } from "../data/live.ts";
import { useKeys } from "../shell/keys.ts";

export function useRowSelection(keys: readonly string[]) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [anchor, setAnchor] = useState<string>();
  const clear = () => setSelected(new Set());
  const select = (key: string, range: boolean) => {
    const next = new Set(selected);
    const [from, to] = [keys.indexOf(anchor ?? key), keys.indexOf(key)].sort((a, b) => a - b);
    const many =
      range && from !== undefined && to !== undefined && from >= 0 ? keys.slice(from, to + 1) : [key];
    const isOn = !selected.has(key);
    for (const one of many) isOn ? next.add(one) : next.delete(one);
    setAnchor(key);
    setSelected(next);
  };
  useEffect(() => {
    pauseLive(selected.size > 0);
    return () => pauseLive(false);
  }, [selected.size]);
  useKeys({ Escape: clear });
  return { selected, select, clear };
}
