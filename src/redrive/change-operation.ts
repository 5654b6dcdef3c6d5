/**
 * Pauses, resumes, cancels and finishes operations of any kind, including those started by another process.
 */
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { Operation, OperationKind } from "../item/operation.ts";
import { assert } from "../std/assert.ts";
import { type Interruptible, requireStarted } from "./operation.ts";

export function isOver({ status }: Operation): boolean {
  return status === "ended" || status === "cancelled";
}

export async function reopen(engine: Engine, operation: Operation): Promise<Operation> {
  requireStarted(operation);
  if (operation.status !== "paused") return operation;
  return engine.changeOperation(operation.id, { status: "open" });
}

/** Pauses the operation: it takes no more letters until it is resumed. Running items finish. */
export async function pauseOperation(engine: Engine, { id }: Operation): Promise<Operation> {
  return refuseUnless("paused", await engine.changeOperation(id, { status: "paused" }));
}

/** Ends the operation. Letters that it has not processed stay unchanged. */
export async function cancelOperation(engine: Engine, { id }: Operation): Promise<Operation> {
  return refuseUnless("cancelled", await engine.changeOperation(id, { status: "cancelled" }));
}

function refuseUnless(status: Operation["status"], operation: Operation): Operation {
  if (operation.status === status) return operation;
  const how = operation.status === "cancelled" ? "was already cancelled" : "has already ended";
  throw new RedriveError("illegal_move", `${operation.id} ${how}.`, {
    hint: `Run \`redrive ops show ${operation.id}\` to see what it did.`,
  });
}

type FinishContext = Interruptible & { readonly home: string };
type Finish = (engine: Engine, operation: Operation, context: FinishContext) => Promise<Operation>;

/** Imported on demand, so that a command loads only the module it needs. Redrives are finished by the job's runner. */
const FINISH_OF: Readonly<Record<Exclude<OperationKind, "redrive">, () => Promise<Finish>>> = {
  edit: async () => (await import("./amend.ts")).continueEdit,
  requeue: async () => (await import("./amend.ts")).continueRequeue,
  discard: async () => (await import("./discard.ts")).continueDiscard,
  restore: async () => (await import("./discard.ts")).continueDiscard,
  purge: async () => (await import("./purge.ts")).continuePurge,
  clear: async () => (await import("./purge.ts")).continuePurge,
  evict: async () => (await import("./purge.ts")).continuePurge,
};

/**
 * Finishes an operation. Finishing the edit of a fix also starts the redrive of the changed letters, which a
 * runner then processes.
 */
export async function finishOperation(
  { engine, ...context }: FinishContext & { engine: Engine },
  operation: Operation,
): Promise<Operation> {
  const { kind, plan, author } = operation;
  assert(kind !== "redrive", "a redrive is resumed by its job");
  if (plan.fix === undefined) return (await FINISH_OF[kind]())(engine, operation, context);
  const { finishFix } = await import("./fix.ts");
  return (await finishFix(engine, operation, { author })).edit;
}
