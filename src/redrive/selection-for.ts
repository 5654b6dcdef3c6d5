/** Which states a kind of operation selects: those that were asked for, as far as it works on them. */
import { WorkError } from "../errors.ts";
import { type OperationKind, STATES_OF_KIND } from "../item/operation.ts";
import type { ItemState } from "../item/state.ts";
import type { Selection } from "./select.ts";

/** What is selected when no state is named, where that is not the first that the kind works on. */
const WHEN_UNNAMED: Partial<Readonly<Record<OperationKind, readonly ItemState[]>>> = {
  clear: STATES_OF_KIND.clear,
};

/** The selection with its states. States that the kind never works on are left out; when none is left, it is an error. */
export function selectionFor(kind: OperationKind, { filter, ...selection }: Selection): Selection {
  const able = STATES_OF_KIND[kind];
  const wanted = filter.states ?? WHEN_UNNAMED[kind] ?? able.slice(0, 1);
  const states = wanted.filter((state) => able.includes(state));
  if (states.length > 0) return { ...selection, filter: { ...filter, states } };
  throw new WorkError(
    "filter_invalid",
    `--state: ${kind} works on letters that are ${able.map(stateWord).join(", ")}.`,
    {
      hint: `Leave --state out, or name one of these.`,
    },
  );
}

/** A resolved letter is one whose item was done in the end. */
export function stateWord(state: ItemState): string {
  return state === "done" ? "resolved" : state;
}
