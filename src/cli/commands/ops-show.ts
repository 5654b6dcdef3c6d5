/** `redrive ops show`: the books of an operation: what it selected, did, refused and why. */
import type { Engine } from "../../engine.ts";
import { type Operation, operationToJson, type SelectedLetter } from "../../item/operation.ts";
import type { JsonObject } from "../../kit/json.ts";
import { requireOperation } from "../../redrive/find-operation.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { type OperationView, operationText } from "../operation-text.ts";

const LETTERS_SHOWN_MAX = 10;

export async function opsShow(context: Context, id: string): Promise<number> {
  const view = await context.withStore(async (engine) => viewOf(engine, await requireOperation(engine, id)));
  context.answer(viewToJson(view), () => operationText(view, context));
  return EXIT.done;
}

/** Those that were refused first: they are what a person looks for. */
async function viewOf(engine: Engine, operation: Operation): Promise<OperationView> {
  const letters: SelectedLetter[] = [];
  for (const status of ["refused", "pending", "done"] as const) {
    const limit = LETTERS_SHOWN_MAX - letters.length;
    if (limit > 0) letters.push(...(await engine.listSelected(operation.id, { status, limit })));
  }
  return { operation, letters, refusals: await engine.listRefusals(operation.id) };
}

function viewToJson({ operation, refusals, letters }: OperationView): JsonObject {
  return {
    ...operationToJson(operation),
    force: operation.force,
    filter: { ...operation.filter } as JsonObject,
    plan: operation.plan,
    progress: operation.progress,
    refusals: refusals.map((refusal) => ({ ...refusal })),
    letters: letters.map(({ itemId, signature, status, reason }) => ({
      item_id: itemId,
      error_signature: signature,
      status,
      ...(reason !== undefined && { reason }),
    })),
  };
}
