/** An operation with the letters that it selected and the reasons for refusals, for people and programs. Reads only. */
import type { Engine } from "../engine.ts";
import { type Operation, operationToJson, type SelectedLetter } from "../item/operation.ts";
import { isJsonObject, type JsonObject } from "../std/json.ts";
import { requireOperation } from "./operation.ts";

export interface OperationView {
  readonly operation: Operation;
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
  readonly letters: readonly SelectedLetter[];
}

const LETTERS_SHOWN_MAX = 10;

/** Lists refused letters first, because users look for them. */
export async function viewOperation(engine: Engine, id: string): Promise<OperationView> {
  const operation = await requireOperation(engine, id);
  const letters: SelectedLetter[] = [];
  for (const status of ["refused", "pending", "done"] as const) {
    const limit = LETTERS_SHOWN_MAX - letters.length;
    if (limit > 0) letters.push(...(await engine.listSelected(operation.id, { status, limit })));
  }
  return { operation, letters, refusals: await engine.listRefusals(operation.id) };
}

export function operationViewToJson({ operation, refusals, letters }: OperationView): JsonObject {
  return {
    ...operationToJson(operation),
    force: operation.force,
    ...requestToJson(operation),
    progress: operation.progress,
    refusals: refusals.map((refusal) => ({ ...refusal })),
    letters: letters.map(selectedToJson),
  };
}

/**
 * The filter of the request. For a server preview, the stored filter lists the frozen letters, so the
 * original request is returned.
 */
function requestToJson({ filter, plan }: Operation): JsonObject {
  const { asked, held_until: _, host: __, ...rest } = plan;
  return { filter: isJsonObject(asked) ? asked : { ...filter }, plan: rest };
}

export function selectedToJson({ itemId, signature, status, reason }: SelectedLetter): JsonObject {
  return {
    item_id: itemId,
    error_signature: signature,
    status,
    ...(reason !== undefined && { reason }),
  };
}
