/** What every store demands of a step of an operation: who breaks it has a bug. */
import { assert } from "../kit/assert.ts";
import type { NewOperation, OperationStep } from "./operation.ts";

export function assertStep(
  { id, kind }: Pick<NewOperation, "id" | "kind">,
  { max, letters }: OperationStep,
): void {
  const says = (what: string) => `a step of operation ${id} (${kind}) ${what}`;
  assert(max === undefined || letters === undefined, says("names letters and says how many"));
  assert(max === undefined || (max > 0 && kind !== "edit"), says(`is to work on ${max} letters`));
  for (const { data, refuse } of letters ?? []) {
    const isEdited = kind === "edit" && refuse === undefined;
    const mayHaveData = isEdited || (kind === "requeue" && refuse === undefined);
    assert(!isEdited || data !== undefined, says("lacks the new data"));
    assert(mayHaveData || data === undefined, says("has data"));
  }
}
