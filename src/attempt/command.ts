/** The handler of a map: one attempt is one run of the user's command, without a shell. */
import { openSync } from "node:fs";
import { dirname } from "node:path";
import { type Failure, failureToJson } from "../item/failure.ts";
import type { HandlerProblem, LeasedItem } from "../item/item.ts";
import type { Outcome, StandardOutput } from "../item/settlement.ts";
import type { HandlerReport } from "../retry/decide.ts";
import { asText, compact, stringifyJson } from "../std/json.ts";
import { type Cuts, DiskRoom, type KeptOutput, keepLater, keepOrExplain, unlessDiskFull } from "./capture.ts";
import type { AttemptContext } from "./handler.ts";
import { type Ended, type Launcher, NOT_STARTED } from "./launch.ts";
import { LogWriter } from "./log-writer.ts";
import { LOG_BYTES_MAX, OutputWatch } from "./output-watch.ts";
import {
  itemEnvironment,
  type ProcessEnd,
  processFailure,
  reportFilesOf,
  runProcess,
  withReports,
} from "./run-process.ts";
import { compileCommand } from "./template.ts";

/** The command that runs once per item, of a map or a queue. */
export interface CommandSpec {
  /** The command and its arguments, with variables. */
  readonly command: readonly string[];
  /**
   * Allows items that begin with "-" even where the command could read them as options. Default: such an item
   * fails.
   */
  readonly allowOptions?: boolean;
  readonly cwd: string;
  /** An attempt that takes longer is killed with all its processes. */
  readonly timeoutMs?: number;
  /** The time between the signals TERM and KILL. */
  readonly graceMs: number;
  /** Whether evidence files are copied into the home folder. Default: only their digests are recorded. */
  readonly keepEvidence?: boolean;
  /** The shell command of `onItemFailure: custom`, which decides about an item that is out of retries. */
  readonly failureCommand?: string;
}

interface CommandOptions extends CommandSpec {
  readonly launcher: Launcher;
  readonly jobId: string;
  /** The path prefix of a slot's files while its attempt runs. Its folder exists. */
  readonly scratch: (slot: number) => string;
  readonly logPath: (itemId: string, attempt: number) => string;
  /** The folder for copies of evidence. Default: no copies. */
  readonly evidenceFolder?: string | undefined;
  /** Aborted when the run ends. */
  readonly stop: AbortSignal;
  readonly now: () => number;
  /** Whether the output of successes is printed, so that it must be complete. Default: output is only logged. */
  readonly isOutputWanted?: boolean | undefined;
  readonly onNotice?: ((notice: string) => void) | undefined;
}

/** `close` stops watching the outputs and waits for the last logs. Must be called after all attempts have ended. */
export function commandHandler(options: CommandOptions) {
  const { command, failureCommand, onNotice } = options;
  const worker: Worker = {
    ...options,
    fill: compileCommand(command, options),
    outputs: new OutputWatch(),
    logs: new LogWriter(options.now),
    room: new DiskRoom(options.now),
  };
  const stopTicking = worker.outputs.startTicking();
  return {
    handle: (item: LeasedItem, context: AttemptContext) => runCommand(item, context, worker),
    askHandler:
      failureCommand === undefined
        ? undefined
        : (item: LeasedItem, failure: Failure) => runFailureCommand(item, failure, failureCommand, worker),
    /** Writes the logs of attempts that are about to be settled. */
    writeLogs: () => worker.logs.write(),
    close: async () => {
      stopTicking();
      const lost = worker.logs.close();
      const attempts = lost === 1 ? "attempt" : "attempts";
      if (lost > 0) onNotice?.(`The logs of ${lost} successful ${attempts} could not be written.`);
    },
  };
}

interface Worker extends CommandOptions {
  readonly fill: ReturnType<typeof compileCommand>;
  readonly outputs: OutputWatch;
  readonly logs: LogWriter;
  readonly room: DiskRoom;
}

async function runCommand(item: LeasedItem, context: AttemptContext, worker: Worker): Promise<Outcome> {
  const filled = worker.fill({ item: item.data, item_id: item.itemId, index: item.index });
  if (!filled.ok) return { kind: "failed", failure: missingVariable(item, context, filled.message, worker) };
  const { outputs, launcher, graceMs, timeoutMs, now, evidenceFolder, isOutputWanted = false } = worker;
  const { spec, reports } = specOf(item, context, filled.value, worker);
  let stdout: StandardOutput | undefined;
  const logPath = worker.logPath(item.itemId, item.attempt);
  const end = await runProcess({
    launcher,
    spec,
    outputs,
    isStdoutWanted: isOutputWanted,
    running: { log: logPath },
    failureFile: spec.env.REDRIVE_FAILURE_FILE,
    timeoutMs,
    graceMs,
    signal: context.stop ?? context.signal,
    mayStart: context.mayStart,
    now,
    evidenceFolder,
    keep: (ended, cuts) => {
      const { stdoutPath, stderrPath } = spec;
      if (ended.exitCode === 0) stdout = standardOutput(ended, cuts, isOutputWanted ? stdoutPath : undefined);
      if (ended.exitCode === 0 && worker.room.isFull(dirname(stdoutPath)))
        stdout = { ...ended.stdout, ...stdout, lost: "The log disk is full." };
      const output = { ended, cuts, stdoutPath, stderrPath, logPath };
      // The log of a letter has its own file, so that a purge can delete it.
      return (item.redriveCount === 0 && keepLater(output, worker.logs)) || keepOrExplain(output);
    },
  });
  const ended = outcomeOf(end, { item, context, worker, argv: filled.value, stdout });
  const outcome = end.ended.hasReports === false ? ended : withReports(ended, reports, context);
  return unlessDiskFull(outcome, dirname(spec.stdoutPath), () => context.signal);
}

function specOf(
  { data, itemId, ref, attempt, queue }: LeasedItem,
  { slot, queued }: AttemptContext,
  argv: readonly string[],
  worker: Worker,
) {
  const prefix = worker.scratch(slot);
  // Each attempt has its own files, so that reports of an earlier attempt are not mistaken for its own.
  const ownPrefix = `${prefix}-${ref}-${attempt}`;
  const failureFile = `${ownPrefix}.failure.json`;
  const reports = reportFilesOf(ownPrefix);
  const known = { item: data, itemId, attempt, jobId: worker.jobId, queue, failureFile, reports };
  const spec = {
    argv,
    cwd: worker.cwd,
    env: { ...itemEnvironment(known), REDRIVE_FAILURE_FILE: failureFile },
    stdin: `${asText(data)}\n`,
    stdoutPath: `${prefix}.out`,
    stderrPath: `${prefix}.err`,
    queued,
  };
  return { spec, reports };
}

/** Opens the output file before it is removed, if the log keeps only a part of it. */
function standardOutput({ stdout }: Ended, cuts: Cuts, path: string | undefined): StandardOutput {
  if (path === undefined || stdout.inline || stdout.bytes === 0) return stdout;
  if (cuts.stdout) return { ...stdout, lost: "The disk was nearly full while the command ran." };
  return stdout.bytes <= LOG_BYTES_MAX ? stdout : { ...stdout, fd: openSync(path, "r") };
}

/** Adds a note to the item when output could not be kept or printed. */
function succeeded(
  stdout: StandardOutput,
  { log, logTrouble }: KeptOutput,
  { note }: AttemptContext,
): Outcome {
  if (logTrouble !== undefined) note(`The log of this attempt is missing. ${logTrouble}`);
  const isLost = logTrouble !== undefined && stdout.inline === undefined && stdout.fd === undefined;
  const lost = stdout.lost ?? (isLost && stdout.bytes > 0 ? logTrouble : undefined);
  if (stdout.lost !== undefined) note(`The output of this attempt may be incomplete. ${stdout.lost}`);
  return compact({
    kind: "succeeded" as const,
    stdout: lost === undefined ? stdout : { ...stdout, lost },
    log,
  });
}

function outcomeOf(
  end: ProcessEnd,
  run: {
    readonly item: LeasedItem;
    readonly context: AttemptContext;
    readonly worker: Worker;
    readonly argv: readonly string[];
    readonly stdout: StandardOutput | undefined;
  },
): Outcome {
  const { ended, kept, cutShort, reported } = end;
  const { item, context, worker } = run;
  const { log } = kept;
  if (ended.startError === NOT_STARTED) return RECALLED;
  const isRunnerFault = ended.startStage === "runner";
  if (cutShort === "stopped" || isRunnerFault) {
    const hasStarted = ended.exitCode !== null || ended.signal !== null;
    const fault = `${hasStarted ? "its output could not be kept" : "no process could be started"} (${ended.startError})`;
    return compact({
      kind: "released" as const,
      why: cutShort === "stopped" ? "the runner stopped" : fault,
      log,
    });
  }
  if (ended.exitCode === 0 && cutShort === null) return succeeded(run.stdout ?? ended.stdout, kept, context);
  const failure = processFailure(end, {
    attempt: item.attempt,
    agentId: context.agentId,
    step: commandStep(run.argv),
    command: commandName(worker.command),
    timeoutMs: worker.timeoutMs,
    durationMs: ended.durationMs,
    now: worker.now(),
  });
  return compact({ kind: "failed" as const, failure, log, retryAfterMs: reported?.retryAfterMs });
}

const RECALLED: Outcome = { kind: "released", why: "the command was not started", isRecalled: true };

/** The failure of an item that lacks a variable used in the command. A retry would not help. */
function missingVariable(
  item: LeasedItem,
  context: AttemptContext,
  message: string,
  { command, now }: Worker,
): Failure {
  return {
    attemptNumber: item.attempt,
    timestamp: now(),
    errorType: { name: "ValidationFailed" },
    errorClass: "permanent",
    errorMessage: message,
    agentId: context.agentId,
    stepFailed: commandStep(command),
    durationMs: 0,
  };
}

const LINE_CHARS_MAX = 500;

/** The command as a shell user would type it. */
function commandStep(argv: readonly string[]): string {
  const line = argv
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
  return `command: ${line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX)}…` : line}`;
}

/** Names the command in failure messages: the program, and its subcommand when the first argument looks like one. */
function commandName(argv: readonly string[]): string {
  const [program = "", first] = argv;
  const name = program.split("/").at(-1) ?? program;
  return first !== undefined && /^[a-z][a-z-]*$/.test(first) ? `${name} ${first}` : name;
}

/** The exit code that asks for a retry: EX_TEMPFAIL of sysexits.h. */
const RETRY_EXIT_CODE = 75;

/**
 * Runs the `on_item_failure: custom` command in a shell, which receives the item and its failure as data.
 * Exit code 0 means handled, 75 means retry, any other code buries the item.
 */
async function runFailureCommand(
  item: LeasedItem,
  failure: Failure,
  script: string,
  options: Worker,
): Promise<HandlerReport> {
  const { launcher, outputs, timeoutMs, graceMs, now } = options;
  const prefix = `${options.scratch(0)}-handler-${item.ref}`; // slot 0 is free: attempts use slots from 1
  const failureFile = `${prefix}.failure.json`;
  const files = { stdoutPath: `${prefix}.out`, stderrPath: `${prefix}.err` };
  const { data, itemId, attempt, queue } = item;
  const known = { item: data, itemId, attempt, queue };
  const logPath = handlerLog(options.logPath(itemId, attempt));
  const end = await runProcess({
    launcher,
    spec: {
      argv: ["/bin/sh", "-c", script],
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
  if (end.cutShort === "stopped") return { answer: "retry" }; // the handler runs again when the job is resumed
  if (end.ended.exitCode === 0 && end.cutShort === null) return { answer: "handled" };
  return reportOf(
    processFailure(end, {
      attempt,
      agentId: "handler",
      step: "on_item_failure",
      command: "the on_item_failure handler",
      timeoutMs,
      durationMs: end.ended.durationMs,
      now: now(),
    }),
  );
}

/** Converts the failure of a handler to its answer, with the details to keep if the item is buried. */
export function reportOf(failure: Failure): HandlerReport {
  const { errorMessage: message, exitCode, signal, stderrTail, stdoutTail, log } = failure;
  if (exitCode === RETRY_EXIT_CODE) return { answer: "retry" };
  const output = stderrTail || stdoutTail || undefined;
  const problem: HandlerProblem = compact({ message, exitCode, signal, output, log });
  return { answer: "dlq", problem };
}

/** Returns the path of the handler's log, next to the log of the failed attempt. */
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
