/** `redrive ops …`: shows and controls operations on many letters. */
import type { Engine } from "../../engine.ts";
import { leftOf, type Operation, operationToJson } from "../../item/operation.ts";
import { requireJob } from "../../queue/find-job.ts";
import { hasRunner } from "../../queue/job-summary.ts";
import { shownOperationToJson, showOperation } from "../../queue/shown-operation.ts";
import { editToJson } from "../../redrive/amend.ts";
import { cancelOperation, finishOperation, pauseOperation, reopen } from "../../redrive/change-operation.ts";
import { listStarted, onlyOpenOperation, requireOperation } from "../../redrive/operation.ts";
import { refuseUndo, type Undone, undoOperation } from "../../redrive/undo.ts";
import { continueRedrive } from "../../run/retry.ts";
import { changeExitCode, changeLetters, emptyCounts, interruptible } from "../bulk.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { runRedrive } from "../interactive-run.ts";
import { refreshDirectories } from "../maintenance.ts";
import { flag, ofJob, quiet, storeWaitMs, yes } from "../options.ts";
import { table } from "../render/layout.ts";
import { countsText, operationText, resultText, statusTint } from "../render/operation.ts";
import { lettersText, secondText } from "../render/text.ts";

const ID = argument("<operation>", "an operation id or a unique prefix");

const list = command({
  isDefault: true,
  summary: "List operations, newest first.",
  examples: ["redrive ops", "redrive ops list --open --job nightly"],
  options: {
    job: ofJob("only operations on this job"),
    open: flag("--open", "only operations that have not ended"),
  },
  run: async (context, { job, open }) => {
    const operations = await context.withStore(async (engine) => {
      const queue = job === undefined ? {} : { queue: (await requireJob(engine, job)).id };
      return (await listStarted(engine, { ...queue, ...(open && { open }) })).toReversed();
    });
    return context.answer({ operations: operations.map(operationToJson) }, () => {
      if (operations.length === 0) return open ? "No open operations.\n" : "No operations.\n";
      return listText(context, operations);
    });
  },
});

function listText({ paint, columns }: Context, operations: readonly Operation[]): string {
  const tint = (cell: string, { status }: Operation) => statusTint(paint, status)(cell);
  return table(
    operations,
    [
      { title: "OPERATION", value: ({ id }) => id },
      { title: "KIND", value: ({ kind }) => kind },
      { title: "STATUS", value: ({ status }) => status, paint: tint },
      { title: "LETTERS", value: ({ selected }) => selected },
      {
        title: "DONE",
        value: ({ kind, done, succeeded }) => (kind === "redrive" ? succeeded : done),
        giveUp: 2,
      },
      { title: "FAILED", value: ({ failed }) => failed, giveUp: 3 },
      { title: "REFUSED", value: ({ refused }) => refused, giveUp: 4 },
      { title: "LEFT", value: leftOf, giveUp: 1 },
      { title: "STARTED", value: ({ createdAt }) => secondText(createdAt), giveUp: 5 },
      { title: "JOB", value: ({ queue }) => queue, cutTo: 12, giveUp: 6 },
      { title: "BY", value: ({ author }) => author, giveUp: 7 },
    ],
    columns,
  );
}

const show = command({
  summary: "Show an operation: its selection, its progress, and the reasons for refusals.",
  examples: ["redrive ops show op-7h2k"],
  arguments: { id: ID },
  run: async (context, { id }) => {
    const view = await context.withStore((engine) => showOperation(engine, id));
    return context.answer(shownOperationToJson(view), () => operationText(view, context));
  },
});

const pause = command({
  summary: "Pause an operation; running attempts finish.",
  examples: ["redrive ops pause op-7h2k"],
  arguments: { id: ID },
  run: async (context, { id }) => {
    const operation = await context.withStore(async (engine) =>
      pauseOperation(engine, await requireOperation(engine, id)),
    );
    const left = lettersText(leftOf(operation));
    return context.answer(
      operationToJson(operation),
      () => `Paused ${operation.id} with ${left} left. To resume: redrive ops resume ${operation.id}\n`,
    );
  },
});

const cancel = command({
  summary: "Cancel an operation; letters that it has not retried yet stay unchanged.",
  examples: ["redrive ops cancel op-7h2k"],
  arguments: { id: ID },
  run: async (context, { id }) => {
    const { operation, isUnmerged } = await context.withStore(async (engine) => {
      const cancelled = await cancelOperation(engine, await requireOperation(engine, id));
      await refreshDirectories(context, engine, { jobIds: [cancelled.queue], count: cancelled.refused });
      return { operation: cancelled, isUnmerged: await mayBeUnmerged(engine, cancelled) };
    });
    const left = leftOf(operation);
    const running = left > 0 ? ` ${lettersText(left)} still running will finish.` : "";
    context.answer(
      operationToJson(operation),
      () => `Cancelled ${operation.id}: ${lettersText(operation.refused)} unchanged.${running}\n`,
    );
    if (isUnmerged) context.note(`To merge its finished work: redrive ops resume ${operation.id}`);
    return EXIT.done;
  },
});

/**
 * Whether commits may be unmerged, because the process that runs a workflow's redrive merges only when it ends, and that
 * process is not running.
 */
async function mayBeUnmerged(engine: Engine, { kind, queue, succeeded }: Operation): Promise<boolean> {
  if (kind !== "redrive" || succeeded === 0) return false;
  const job = await engine.findJob(queue);
  return job?.kind === "workflow" && !(await hasRunner(engine, queue));
}

const resume = command({
  summary: "Resume an operation that was paused, interrupted or killed, and wait until it ends.",
  examples: ["redrive ops resume", "redrive ops resume op-7h2k"],
  arguments: {
    id: argument("[operation]", "an operation id or a unique prefix (default: the only open operation)"),
  },
  options: { quiet, storeWaitMs },
  run: async (context, { id, ...options }) => {
    const operation = await context.withStore(async (engine) =>
      reopen(engine, id === undefined ? await onlyOpenOperation(engine) : await requireOperation(engine, id)),
    );
    if (operation.kind === "redrive") {
      return runRedrive(context, options, async (deps, watch) => ({
        operation: await continueRedrive(deps, operation, watch),
        job: await requireJob(deps.engine, operation.queue),
      }));
    }
    const { home } = context;
    const changed = await changeLetters(context, (engine, signal) =>
      finishOperation({ engine, home, signal }, operation),
    );
    const { result } = changed;
    return context.answer(operationToJson(result), () => countsText(result), changeExitCode(changed));
  },
});

const undo = command({
  summary: "Undo an edit, a discard, a restore, or an archived purge.",
  examples: ["redrive ops undo op-7h2k"],
  arguments: { id: ID },
  options: { yes },
  run: async (context, { id, yes: isAgreed }) => {
    const operation = await context.withStore((engine) => requireOperation(engine, id));
    refuseUndo(operation);
    const { kind, done, queue } = operation;
    if (!isAgreed && done > 1) await context.confirm(`Undo the ${kind} of ${lettersText(done)} of ${queue}?`);
    const { author } = context;
    const { result: undone, interrupted } = await interruptible(context, async (engine, signal) => {
      const result = await undoOperation(engine, operation, { author, signal });
      await refreshDirectories(context, engine, { jobIds: [queue], count: restoredBy(result) });
      return result;
    });
    context.answer(undoneToJson(operation, undone), () => undoneText(operation, undone));
    if (undone.by === "operation") return changeExitCode({ result: undone.operation, interrupted });
    if (interrupted === null) return EXIT.done;
    context.note(`Interrupted. To restore the rest: redrive ops undo ${operation.id}`);
    return interrupted;
  },
});

function restoredBy(undone: Undone): number {
  return undone.by === "operation" ? undone.operation.done : undone.report.imported + undone.report.extended;
}

function undoneToJson({ id, queue, kind, done }: Operation, undone: Undone): object {
  if (undone.by === "operation")
    return undone.operation.kind === "edit"
      ? editToJson(undone.operation)
      : operationToJson(undone.operation);
  const { report, archive } = undone;
  const count = restoredBy(undone);
  const counts = { undoes: id, selected: done, done: count, succeeded: count, refused: report.existing };
  return emptyCounts(kind, queue, { ...counts, archive, ...report });
}

function undoneText({ id, kind, queue }: Operation, undone: Undone): string {
  if (undone.by === "import") {
    const { existing } = undone.report;
    const left = existing > 0 ? `; skipped ${existing} because their items already exist` : "";
    return `Restored ${lettersText(restoredBy(undone))} of ${queue} from ${undone.archive}${left}.\n`;
  }
  return resultText(undone.operation, `Undid the ${kind} ${id}: ${lettersText(undone.operation.done)}`);
}

export const commands = { list, show, pause, resume, cancel, undo };
