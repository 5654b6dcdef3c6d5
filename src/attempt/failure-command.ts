/** Runs the command of `on_item_failure: custom` in a shell, which gets the item and its failure as data. */
import { type Failure, failureToJson } from "../item/failure.ts";
import type { HandlerProblem, LeasedItem } from "../item/item.ts";
import type { HandlerAnswer, HandlerReport } from "../retry/decide.ts";
import { compact, stringifyJson } from "../std/json.ts";
import { keepOrExplain } from "./capture.ts";
import type { CommandOptions } from "./command.ts";
import { itemEnvironment } from "./item-environment.ts";
import type { OutputWatch } from "./output-watch.ts";
import { processFailure, runProcess } from "./run-process.ts";

/** The exit code that asks for a retry: EX_TEMPFAIL of sysexits.h. */
export const RETRY_EXIT_CODE = 75;

export interface FailureCommandOptions extends CommandOptions {
  readonly failureCommand: string;
  readonly outputs: OutputWatch;
}

/** Exit code 0 means handled, 75 means retry, any other buries the item. */
export async function runFailureCommand(
  item: LeasedItem,
  failure: Failure,
  options: FailureCommandOptions,
): Promise<HandlerReport> {
  const { launcher, outputs, timeoutMs, graceMs, now } = options;
  const prefix = `${options.scratch(0)}-handler-${item.ref}`; // attempts run in slots from 1
  const failureFile = `${prefix}.failure.json`;
  const files = { stdoutPath: `${prefix}.out`, stderrPath: `${prefix}.err` };
  const { data, itemId, attempt, queue } = item;
  const known = { item: data, itemId, attempt, queue };
  const logPath = handlerLog(options.logPath(itemId, attempt));
  const end = await runProcess({
    launcher,
    spec: {
      argv: ["/bin/sh", "-c", options.failureCommand],
      cwd: options.cwd,
      env: {
        ...itemEnvironment({ ...known, jobId: options.jobId, failureFile }),
        ...errorEnvironment(failure),
      },
      stdin: `${stringifyJson(failureToJson(failure))}\n`,
      ...files,
    },
    outputs,
    failureFile,
    timeoutMs,
    graceMs,
    signal: options.stop,
    mayStart: () => true,
    now,
    keep: (ended, cuts) => keepOrExplain({ ended, cuts, ...files, logPath }),
  });
  if (end.cutShort === "stopped") return { answer: "retry" }; // it runs again when the job is resumed
  if (end.ended.exitCode === 0 && end.cutShort === null) return { answer: "handled" };
  return reportOf(
    processFailure(end, {
      attempt,
      agentId: "handler",
      step: "on_item_failure",
      command: "the handler of on_item_failure",
      timeoutMs,
      durationMs: end.ended.durationMs,
      now: now(),
    }),
  );
}

/** The answer of a handler that failed, with the details to keep when the item is buried. */
export function reportOf(failure: Failure): HandlerReport {
  const answer: HandlerAnswer = failure.exitCode === RETRY_EXIT_CODE ? "retry" : "dlq";
  return answer === "retry" ? { answer } : { answer, problem: problemOf(failure) };
}

function problemOf({ errorMessage, exitCode, signal, stderrTail, stdoutTail, log }: Failure): HandlerProblem {
  const output = stderrTail || stdoutTail || undefined;
  return compact({ message: errorMessage, exitCode, signal, output, log });
}

/** The log of the handler, beside the log of the failed attempt. */
export function handlerLog(attemptLog: string): string {
  return attemptLog.replace(/\.log$/, ".handler.log");
}

function errorEnvironment(failure: Failure): Record<string, string> {
  const { errorType, errorMessage, exitCode, stepFailed } = failure;
  return {
    REDRIVE_ERROR_TYPE: errorType.name,
    REDRIVE_ERROR_MESSAGE: errorMessage,
    REDRIVE_ERROR_STEP: stepFailed,
    ...(exitCode !== undefined && { REDRIVE_ERROR_EXIT_CODE: String(exitCode) }),
  };
}
