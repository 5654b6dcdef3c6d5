/** `redrive ops pause` and `redrive ops cancel`: stop an operation, for now or for good, whichever process runs it. */
import type { Engine } from "../../engine.ts";
import { leftOf, type Operation, operationToJson } from "../../item/operation.ts";
import { hasRunner } from "../../job/summary.ts";
import { cancelOperation, pauseOperation } from "../../redrive/change-operation.ts";
import { requireOperation } from "../../redrive/find-operation.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { lettersText } from "../operation-text.ts";
import { refreshDirectories } from "../refresh-directories.ts";

export async function opsPause(context: Context, id: string): Promise<number> {
  const operation = await context.withStore(async (engine) =>
    pauseOperation(engine, await requireOperation(engine, id)),
  );
  context.answer(operationToJson(operation), () => pausedText(operation));
  return EXIT.done;
}

export async function opsCancel(context: Context, id: string): Promise<number> {
  const { operation, isUnmerged } = await context.withStore(async (engine) => {
    const cancelled = await cancelOperation(engine, await requireOperation(engine, id));
    await refreshDirectories(context, engine, { jobIds: [cancelled.queue], count: cancelled.refused });
    return { operation: cancelled, isUnmerged: await mayBeUnmerged(engine, cancelled) };
  });
  context.answer(operationToJson(operation), () => cancelledText(operation));
  if (isUnmerged) context.note(`To merge the work that it has done: redrive ops resume ${operation.id}`);
  return EXIT.done;
}

/** The process that runs a workflow's redrive merges at its end; when it is gone, somebody else has to. */
async function mayBeUnmerged(engine: Engine, { kind, queue, succeeded }: Operation): Promise<boolean> {
  if (kind !== "redrive" || succeeded === 0) return false;
  const job = await engine.findJob(queue);
  return job?.kind === "workflow" && !(await hasRunner(engine, queue));
}

function pausedText(operation: Operation): string {
  return `${operation.id} is paused with ${lettersText(leftOf(operation))} to go: redrive ops resume ${operation.id}\n`;
}

function cancelledText(operation: Operation): string {
  const { id, refused } = operation;
  const left = leftOf(operation);
  const running = left > 0 ? `; ${left} that ${left === 1 ? "runs comes" : "run come"} to the end` : "";
  return `${id} was cancelled: ${lettersText(refused)} ${refused === 1 ? "stays" : "stay"} as they were${running}.\n`;
}
