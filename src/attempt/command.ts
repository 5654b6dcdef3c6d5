/**
 * The handler of a map: one attempt is one run of the user's command, without a shell. It says what the command gets
 * to know of its item and what its end means; `run-process.ts` does the rest.
 */
import { openSync } from "node:fs";
import { dirname } from "node:path";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Outcome, StandardOutput } from "../item/outcome.ts";
import { asText } from "../kit/json.ts";
import type { HandlerReport } from "../retry/decide.ts";
import { type Cuts, type KeptOutput, keepLater, keepOrSayWhy } from "./capture.ts";
import { commandName, commandStep, unfillable } from "./command-failure.ts";
import { reportFilesOf, withReports } from "./command-reports.ts";
import { DiskRoom, unlessDiskFull } from "./disk-room.ts";
import { runFailureCommand } from "./failure-command.ts";
import type { AttemptContext, Handler } from "./handler.ts";
import { itemEnvironment } from "./item-environment.ts";
import type { Ended, Launcher } from "./launch.ts";
import { LogWriter } from "./log-writer.ts";
import { LOG_BYTES_MAX, OutputWatch } from "./output-watch.ts";
import { processFailure } from "./process-failure.ts";
import { type ProcessEnd, runProcess } from "./run-process.ts";
import { compileCommand } from "./template.ts";

export interface CommandOptions {
  readonly launcher: Launcher;
  /** The command and its arguments, with variables. */
  readonly command: readonly string[];
  /** Items may begin with "-" where the command could read them as options. Default: such an item fails. */
  readonly allowOptions?: boolean | undefined;
  readonly cwd: string;
  readonly jobId: string;
  readonly timeoutMs?: number;
  /** Between the signals TERM and KILL. */
  readonly graceMs: number;
  /** Where a slot's files are while its attempt runs: a path that these files start with, in a folder that is there. */
  readonly scratch: (slot: number) => string;
  readonly logPath: (itemId: string, attempt: number) => string;
  /** Where copies of the files go that a command names as evidence. Default: none are made. */
  readonly evidenceFolder?: string;
  /** Decides about an item whose attempts are used up, in a shell. Default: nobody is asked. */
  readonly failureCommand?: string;
  /** Aborted when the run ends. */
  readonly stop: AbortSignal;
  readonly now: () => number;
  /** Whether the output of successes is printed, and so has to be whole. Default: it is only kept in logs. */
  readonly isOutputWanted?: boolean;
  /** Called at the end with the number of successes whose logs could not be written. */
  readonly onLogsLost?: (count: number) => void;
}

export interface CommandHandler {
  readonly handle: Handler;
  /** Present when there is a failure command. */
  readonly askHandler?: (item: LeasedItem, failure: Failure) => Promise<HandlerReport>;
  /** Stops watching the outputs and waits for the last logs; the attempts have ended by then. */
  close(): Promise<void>;
}

export function commandHandler(options: CommandOptions): CommandHandler {
  const outputs = new OutputWatch();
  const logs = new LogWriter();
  const room = new DiskRoom(options.now);
  const worker: Worker = { ...options, fill: compileCommand(options.command, options), outputs, logs, room };
  const stopTicking = outputs.startTicking();
  const { failureCommand } = options;
  return {
    handle: (item, context) => runCommand(item, context, worker),
    ...(failureCommand !== undefined && {
      askHandler: (item, failure) => runFailureCommand(item, failure, { ...worker, failureCommand }),
    }),
    close: async () => {
      stopTicking();
      const lost = await logs.flush();
      if (lost > 0) options.onLogsLost?.(lost);
    },
  };
}

/** For a person, when the disk did not take all logs. */
export function logsLostNotice(count: number): string {
  return `The logs of ${count} successful ${count === 1 ? "attempt" : "attempts"} could not be written.`;
}

interface Worker extends CommandOptions {
  readonly fill: ReturnType<typeof compileCommand>;
  readonly outputs: OutputWatch;
  readonly logs: LogWriter;
  readonly room: DiskRoom;
}

async function runCommand(item: LeasedItem, context: AttemptContext, worker: Worker): Promise<Outcome> {
  const filled = worker.fill({ item: item.data, item_id: item.itemId, index: item.index });
  if (!filled.ok) return { kind: "failed", failure: unfillable(item, context, filled.message, worker) };
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
    signal: context.signal,
    mayStart: context.mayStart,
    now,
    evidenceFolder,
    keep: (ended, cuts) => {
      const { stdoutPath, stderrPath } = spec;
      if (ended.exitCode === 0) stdout = standardOutput(ended, cuts, isOutputWanted ? stdoutPath : undefined);
      if (ended.exitCode === 0 && worker.room.isFull(dirname(stdoutPath)))
        stdout = { ...ended.stdout, ...stdout, lost: "The disk of the logs is full." };
      const output = { ended, cuts, stdoutPath, stderrPath, logPath };
      return keepLater(output, worker.logs) ?? keepOrSayWhy(output);
    },
  });
  const judged = judge(end, { item, context, worker, argv: filled.value, stdout });
  const outcome = withReports(judged, reports, context);
  return unlessDiskFull(outcome, dirname(spec.stdoutPath), context.signal);
}

function specOf(
  { data, itemId, ref, attempt, queue }: LeasedItem,
  { slot }: AttemptContext,
  argv: readonly string[],
  worker: Worker,
) {
  const prefix = worker.scratch(slot);
  // A report is the attempt's own: one that a success left behind must not be taken for the next one's.
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
    keepEmptyFiles: true,
  };
  return { spec, reports };
}

/** Opened before its file is removed, where the log keeps less than all of it. */
function standardOutput({ stdout }: Ended, cuts: Cuts, path: string | undefined): StandardOutput {
  if (path === undefined || stdout.inline || stdout.bytes === 0) return stdout;
  if (cuts.stdout) return { ...stdout, lost: "The disk was nearly full while the command ran." };
  return stdout.bytes <= LOG_BYTES_MAX ? stdout : { ...stdout, fd: openSync(path, "r") };
}

/** What could not be kept or printed of a success is noted on its item. */
function succeeded(stdout: StandardOutput, kept: KeptOutput, { note }: AttemptContext): Outcome {
  const { log, logTrouble } = kept;
  if (logTrouble !== undefined) note(`The log of this attempt is missing. ${logTrouble}`);
  const isLost = logTrouble !== undefined && stdout.inline === undefined && stdout.fd === undefined;
  const lost = stdout.lost ?? (isLost && stdout.bytes > 0 ? logTrouble : undefined);
  if (stdout.lost !== undefined) note(`The output of this attempt may not be whole. ${stdout.lost}`);
  return {
    kind: "succeeded",
    stdout: lost === undefined ? stdout : { ...stdout, lost },
    ...(log !== undefined && { log }),
  };
}

interface CommandCase {
  readonly item: LeasedItem;
  readonly context: AttemptContext;
  readonly worker: Worker;
  readonly argv: readonly string[];
  readonly stdout: StandardOutput | undefined;
}

function judge(end: ProcessEnd, { item, context, worker, argv, stdout }: CommandCase): Outcome {
  const { ended, kept, cutShort, reported } = end;
  const log = kept.log === undefined ? {} : { log: kept.log };
  if (cutShort === "stopped") return { kind: "released", why: "the runner stopped", ...log };
  if (ended.startStage === "runner") {
    return { kind: "released", why: `no process could be started (${ended.startError})`, ...log };
  }
  if (ended.exitCode === 0 && cutShort === null) return succeeded(stdout ?? ended.stdout, kept, context);
  const failure = processFailure(end, {
    attempt: item.attempt,
    agentId: context.agentId,
    step: commandStep(argv),
    command: commandName(worker.command),
    timeoutMs: worker.timeoutMs,
    durationMs: ended.durationMs,
    now: worker.now(),
  });
  const retryAfterMs = reported?.retryAfterMs;
  return { kind: "failed", failure, ...log, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}
