/** Pauses, opens again, cancels and finishes operations of any kind, whichever process began them. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Operation, OperationKind } from "../item/operation.ts";
import { assert } from "../kit/assert.ts";

/** Whether there is nothing left to do with it. */
export function isOver({ status }: Operation): boolean {
  return status === "ended" || status === "cancelled";
}

/** Opens a paused operation again; any other stays as it is. */
export async function reopen(engine: Engine, operation: Operation): Promise<Operation> {
  if (operation.status !== "paused") return operation;
  return engine.changeOperation(operation.id, { status: "open" });
}

/** Stops it for now; what runs comes to its end. */
export async function pauseOperation(engine: Engine, { id }: Operation): Promise<Operation> {
  return refuseUnless("paused", await engine.changeOperation(id, { status: "paused" }));
}

/** Ends it; what it has not begun stays as it is. */
export async function cancelOperation(engine: Engine, { id }: Operation): Promise<Operation> {
  refuseUnless("cancelled", await engine.changeOperation(id, { status: "cancelled" }));
  return engine.closeOperation(id);
}

function refuseUnless(status: Operation["status"], operation: Operation): Operation {
  if (operation.status === status) return operation;
  const how = operation.status === "cancelled" ? "was cancelled" : "has ended";
  throw new WorkError("illegal_move", `${operation.id} ${how} already.`, {
    hint: `\`redrive ops show ${operation.id}\` shows what it did.`,
  });
}

interface Surroundings {
  readonly home: string;
  /** Ends the work between two steps; the operation stays open. */
  readonly signal?: AbortSignal | undefined;
}

type Finish = (engine: Engine, operation: Operation, surroundings: Surroundings) => Promise<Operation>;

/** Loaded when one of the kind is gone on with. A redrive runs work, and is its job's business. */
const FINISH_OF: Readonly<Record<Exclude<OperationKind, "redrive">, () => Promise<Finish>>> = {
  edit: async () => (await import("./amend.ts")).continueEdit,
  requeue: async () => (await import("./requeue.ts")).continueRequeue,
  discard: async () => (await import("./discard.ts")).continueDiscard,
  restore: async () => (await import("./discard.ts")).continueDiscard,
  purge: async () => (await import("./purge.ts")).continuePurge,
  clear: async () => (await import("./purge.ts")).continuePurge,
  evict: async () => (await import("./purge.ts")).continuePurge,
};

/** Works any operation but a redrive to its end, from wherever it is. */
export async function finishOperation(
  { engine, ...surroundings }: Surroundings & { readonly engine: Engine },
  operation: Operation,
): Promise<Operation> {
  const { kind } = operation;
  assert(kind !== "redrive", "a redrive is gone on with by its job");
  if (operation.plan.fix !== undefined) return finishRule(engine, operation);
  const finish = await FINISH_OF[kind]();
  return finish(engine, operation, surroundings);
}

/** The edit of a rule; the redrive of what it changed is begun with its end, and waits to be gone on with. */
async function finishRule(engine: Engine, operation: Operation): Promise<Operation> {
  const { finishFix } = await import("./fix.ts");
  return (await finishFix(engine, operation, { author: operation.author })).edit;
}
