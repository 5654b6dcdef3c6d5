/** `redrive ops resume`: goes on with an operation that was paused, interrupted or killed, and waits for its end. */
import type { Engine } from "../../engine.ts";
import { type Operation, operationToJson } from "../../item/operation.ts";
import { requireJob } from "../../job/find-job.ts";
import { continueRedrive } from "../../job/retry.ts";
import { finishOperation, reopen } from "../../redrive/change-operation.ts";
import { onlyOpenOperation, requireOperation } from "../../redrive/find-operation.ts";
import { changeExitCode, changeLetters } from "../change-letters.ts";
import type { Context } from "../context.ts";
import { bookText } from "../operation-text.ts";
import { redriveForPerson } from "../redrive-for-person.ts";
import type { WatchOptions } from "../run-for-person.ts";

export async function opsResume(
  context: Context,
  id: string | undefined,
  flags: WatchOptions,
): Promise<number> {
  const operation = await context.withStore(async (engine) => reopen(engine, await find(engine, id)));
  return operation.kind === "redrive" ? resumeRedrive(context, operation, flags) : finish(context, operation);
}

function find(engine: Engine, id: string | undefined): Promise<Operation> {
  return id === undefined ? onlyOpenOperation(engine) : requireOperation(engine, id);
}

function resumeRedrive(context: Context, begun: Operation, flags: WatchOptions): Promise<number> {
  return redriveForPerson(context, flags, async (deps, watch) => {
    const operation = await continueRedrive(deps, begun, watch);
    return { operation, job: await requireJob(deps.engine, begun.queue) };
  });
}

async function finish(context: Context, begun: Operation): Promise<number> {
  const { home } = context;
  const changed = await changeLetters(context, (engine, signal) =>
    finishOperation({ engine, home, signal }, begun),
  );
  context.answer(operationToJson(changed.result), () => bookText(changed.result));
  return changeExitCode(changed);
}
