/** `redrive ops pause` and `redrive ops cancel`: stop an operation, for now or for good, whichever process runs it. */
import { leftOf, type Operation, operationToJson } from "../../item/operation.ts";
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
  const operation = await context.withStore(async (engine) => {
    const cancelled = await cancelOperation(engine, await requireOperation(engine, id));
    await refreshDirectories(context, engine, { jobIds: [cancelled.queue], count: cancelled.refused });
    return cancelled;
  });
  context.answer(operationToJson(operation), () => cancelledText(operation));
  return EXIT.done;
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
