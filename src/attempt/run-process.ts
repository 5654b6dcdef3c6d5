/** Runs one process for a map or a workflow step: its environment, limits, output, reports and failure record. */
import { readFileSync, rmSync, statSync } from "node:fs";
import type { EvidenceFile, Failure } from "../item/failure.ts";
import type { Outcome } from "../item/settlement.ts";
import { classify, printedTrace } from "../retry/classify.ts";
import { parseReportedFailure, type ReportedFailure } from "../retry/reported-failure.ts";
import { systemClock } from "../std/clock.ts";
import { asText, compact, type Json, parseJson } from "../std/json.ts";
import { messageOf } from "../std/thrown.ts";
import { tryTo } from "../std/try-to.ts";
import type { Cuts, KeptOutput } from "./capture.ts";
import { collectEvidence } from "./evidence.ts";
import type { AttemptContext } from "./handler.ts";
import { type Ended, type Launched, type Launcher, type LaunchSpec, notStarted } from "./launch.ts";
import type { OutputWatch, RunningOutput } from "./output-watch.ts";
import { abortSignalOf, type StopSignal } from "./stop-signal.ts";

export interface ProcessOptions {
  readonly launcher: Launcher;
  readonly spec: LaunchSpec;
  readonly outputs: OutputWatch;
  /** Whether stdout must be complete, regardless of its size. Default: only the part that a log keeps. */
  readonly isStdoutWanted?: boolean;
  /** The attempt whose output other processes may read while it runs. Default: they cannot. */
  readonly running?: Omit<RunningOutput, "stdout" | "stderr"> | undefined;
  /** The value of REDRIVE_FAILURE_FILE. */
  readonly failureFile: string;
  readonly timeoutMs?: number | undefined;
  readonly graceMs: number;
  readonly signal: StopSignal;
  /** Aborted to end the process for a reason known to the caller. */
  readonly halt?: AbortSignal | undefined;
  /** Called just before the process starts. False when the lease may have expired. */
  readonly mayStart: () => boolean;
  readonly now: () => number;
  /** The folder for copies of evidence. Default: no copies. */
  readonly evidenceFolder?: string | undefined;
  readonly keep: (ended: Ended, cuts: Cuts) => KeptOutput | Promise<KeptOutput>;
}

type CutShort = "timeout" | "stopped" | "halted" | null;

export interface ProcessEnd {
  readonly ended: Ended;
  readonly cutShort: CutShort;
  readonly kept: KeptOutput;
  readonly reported: ReportedFailure | undefined;
  /** The evidence files that the process named, as they were when it ended. */
  readonly evidence?: readonly EvidenceFile[] | undefined;
}

/** Resolves when the whole process tree has ended and the output is kept. */
export async function runProcess(options: ProcessOptions): Promise<ProcessEnd> {
  const { spec, outputs } = options;
  if (!options.mayStart()) return NEVER_STARTED;
  const { stdoutPath: stdout, stderrPath: stderr, queued } = spec;
  const watch = () => {
    outputs.add(stdout, { isWantedWhole: options.isStdoutWanted ?? false });
    outputs.add(stderr);
    if (options.running) outputs.announce({ ...options.running, stdout, stderr });
  };
  const onStarted = () => {
    watch();
    limits.start();
    queued?.onStarted();
  };
  if (!queued) watch();
  const launched = options.launcher.launch(queued ? { ...spec, queued: { ...queued, onStarted } } : spec);
  const limits = limit(launched, options);
  if (!queued) limits.start();
  const ended = await launched.ended;
  const cutShort = await limits.done();
  const cuts = { stdout: outputs.take(spec.stdoutPath), stderr: outputs.take(spec.stderrPath) };
  const kept = await options.keep(ended, cuts);
  const hasReport = ended.exitCode !== 0 && ended.hasReports !== false;
  const reported = hasReport ? takeReport(options.failureFile, options.now()) : undefined;
  const evidence =
    reported?.evidence &&
    (await collectEvidence(reported.evidence, {
      cwd: spec.cwd,
      signal: abortSignalOf(options.signal),
      keepIn: options.evidenceFolder,
    }));
  return { ended, cutShort, kept, reported, evidence };
}

/** The result when the lease may have expired. Treated like a stop, so that the attempt is not counted. */
const NEVER_STARTED: ProcessEnd = {
  ended: notStarted("ESTALE", "runner"),
  cutShort: "stopped",
  kept: { stdoutTail: "", stderrTail: "" },
  reported: undefined,
};

/** Ends the whole tree on a timeout or when the runner stops. */
function limit(launched: Pick<Launched, "end">, { signal, halt, timeoutMs, graceMs }: ProcessOptions) {
  let cutShort: CutShort = null;
  let ending: Promise<void> | undefined;
  const end = (why: CutShort) => {
    cutShort ??= why;
    ending ??= launched.end(graceMs);
  };
  const onStop = () => end("stopped");
  const onHalt = () => end("halted");
  let cancel: (() => void) | undefined;
  if (signal.aborted) onStop();
  else signal.addEventListener("abort", onStop, { once: true });
  halt?.addEventListener("abort", onHalt, { once: true });
  return {
    /** Called when the process has started. */
    start(): void {
      if (timeoutMs !== undefined) cancel = systemClock.after(timeoutMs, () => end("timeout"));
    },
    /** Called when the process itself has ended; waits until its descendants have ended too. */
    async done(): Promise<CutShort> {
      cancel?.();
      signal.removeEventListener("abort", onStop);
      halt?.removeEventListener("abort", onHalt);
      await ending;
      return cutShort;
    },
  };
}

/** Most commands report nothing. */
function takeReport(path: string, now: number): ReportedFailure | undefined {
  const text = tryTo(() => readFileSync(path, "utf8"));
  if (text !== undefined) rmSync(path, { force: true });
  return text === undefined ? undefined : parseReportedFailure(text, now);
}

/** Facts about a process for its failure record. */
export interface ProcessFacts {
  readonly attempt: number;
  readonly agentId: string;
  /** The step with its values, for display, e.g. `shell: cargo test src/a.rs`. */
  readonly step: string;
  /** The command's name in messages. The same for every item, so that equal failures form one group. */
  readonly command: string;
  /** Replaces the default message of a timeout. */
  readonly message?: string;
  /** The limit that the process exceeded in case of a timeout. */
  readonly timeoutMs?: number | undefined;
  readonly durationMs: number;
  readonly now: number;
  /** The context of the failure, outermost first. */
  readonly trail?: readonly string[];
  readonly jsonLog?: string | undefined;
}

export function processFailure(
  { ended, cutShort, kept, reported, evidence }: ProcessEnd,
  run: ProcessFacts,
): Failure {
  const ending = { exitCode: ended.exitCode ?? undefined, signal: ended.signal ?? undefined };
  const tails = { stdoutTail: kept.stdoutTail, stderrTail: kept.stderrTail };
  const facts = compact({
    timedOutMs: cutShort === "timeout" ? run.timeoutMs : undefined,
    message: cutShort === "timeout" ? run.message : undefined,
    ...ending,
    startError: ended.startError,
    reported,
    ...(kept.ends ?? tails),
    command: run.command,
  });
  const { errorType, errorClass, message } = classify(facts);
  const { logTrouble } = kept;
  const context = [
    ...(run.trail ?? []),
    ...(reported?.context ?? []),
    ...(reported?.problem === undefined ? [] : [reported.problem]),
    ...(logTrouble === undefined ? [] : [`the log could not be written: ${logTrouble}`]),
  ];
  return compact({
    attemptNumber: run.attempt,
    timestamp: run.now,
    errorType,
    errorClass,
    errorMessage: message,
    errorContext: context.length === 0 ? undefined : context,
    stackTrace: reported?.stackTrace ?? printedTrace(message, facts),
    agentId: run.agentId,
    stepFailed: run.step,
    durationMs: Math.round(run.durationMs),
    jsonLogLocation: run.jsonLog,
    ...ending,
    ...tails,
    log: kept.log,
    evidence,
    source: reported?.source,
  });
}

/** The paths of report files. Each attempt has its own, so that files of an earlier attempt are not read. */
interface ReportFiles {
  readonly resultFile: string;
  readonly notesFile: string;
}

interface ItemEnvironment {
  readonly item?: Json | undefined;
  readonly itemId?: string | undefined;
  readonly attempt: number;
  readonly jobId?: string | undefined;
  readonly queue?: string | undefined;
  /** The path of the file for a failure report in JSON. */
  readonly failureFile: string;
  /** The files for the result and the notes. Steps of workflows have none. */
  readonly reports?: ReportFiles;
}

/** The size limit of a variable, slightly below that of Linux. */
const VARIABLE_BYTES_MAX = 120_000;

/** Returns the variables that describe the item. An item too large for a variable is omitted. */
export function itemEnvironment(known: ItemEnvironment): Record<string, string> {
  const text = known.item === undefined ? undefined : asText(known.item);
  const isHeld = text !== undefined && Buffer.byteLength(text) < VARIABLE_BYTES_MAX && !text.includes("\0");
  return compact({
    REDRIVE_ITEM: isHeld ? text : undefined,
    REDRIVE_ITEM_ID: known.itemId,
    REDRIVE_ATTEMPT: String(known.attempt),
    REDRIVE_JOB_ID: known.jobId,
    REDRIVE_QUEUE: known.queue,
    REDRIVE_FAILURE_FILE: known.failureFile,
    REDRIVE_RESULT_FILE: known.reports?.resultFile,
    REDRIVE_NOTES_FILE: known.reports?.notesFile,
  });
}

export function reportFilesOf(prefix: string): ReportFiles {
  return { resultFile: `${prefix}.result.json`, notesFile: `${prefix}.notes` };
}

const RESULT_BYTES_MAX = 1024 * 1024;
const NOTES_BYTES_MAX = 256 * 1024;

/** Reads and removes both files. Only a success has a result; notes are kept for any outcome. */
export function withReports(outcome: Outcome, files: ReportFiles, { note }: AttemptContext): Outcome {
  const notes = take(files.notesFile, NOTES_BYTES_MAX);
  if (notes?.problem !== undefined) note(`The command's notes cannot be used: ${notes.problem}.`);
  for (const line of notes?.text?.split("\n") ?? []) note(line);
  const result = take(files.resultFile, RESULT_BYTES_MAX);
  if (result === null || outcome.kind !== "succeeded") return outcome;
  const { text = "", problem = "it is not valid JSON" } = result;
  const value = result.problem === undefined ? tryTo(() => parseJson(text)) : undefined;
  if (value !== undefined) return { ...outcome, result: value as Json };
  note(`The command's result cannot be used: ${problem}.`);
  return outcome;
}

function take(path: string, bytesMax: number): { text?: string; problem?: string } | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  try {
    if (!found.isFile()) return { problem: "it is not a regular file" };
    if (found.size > bytesMax) return { problem: `it has ${found.size} bytes; the limit is ${bytesMax}` };
    return { text: readFileSync(path, "utf8") };
  } catch (error) {
    return { problem: messageOf(error) };
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}
