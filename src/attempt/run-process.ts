/** Runs one process for a map or a workflow step: limits it, keeps its output, and builds the failure record. */
import { readFileSync, rmSync } from "node:fs";
import type { EvidenceFile, Failure } from "../item/failure.ts";
import { classify, printedTrace } from "../retry/classify.ts";
import { parseReportedFailure, type ReportedFailure } from "../retry/reported-failure.ts";
import { systemClock } from "../std/clock.ts";
import { compact } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";
import type { Cuts, KeptOutput } from "./capture.ts";
import { collectEvidence } from "./evidence.ts";
import { type Ended, type Launched, type Launcher, type LaunchSpec, notStarted } from "./launch.ts";
import type { OutputWatch, RunningOutput } from "./output-watch.ts";

export interface ProcessOptions {
  readonly launcher: Launcher;
  readonly spec: LaunchSpec;
  readonly outputs: OutputWatch;
  /** Stdout is needed completely, whatever its size. Default: only what a log keeps. */
  readonly isStdoutWanted?: boolean;
  /** Published so that other processes find its output while it runs. Default: not published. */
  readonly running?: Omit<RunningOutput, "stdout" | "stderr"> | undefined;
  /** The path in REDRIVE_FAILURE_FILE. */
  readonly failureFile: string;
  readonly timeoutMs?: number | undefined;
  readonly graceMs: number;
  readonly signal: AbortSignal;
  /** Called just before it starts; false when the lease may have expired. */
  readonly mayStart: () => boolean;
  readonly now: () => number;
  /** The folder for copies of evidence. Default: no copies. */
  readonly evidenceFolder?: string | undefined;
  readonly keep: (ended: Ended, cuts: Cuts) => KeptOutput | Promise<KeptOutput>;
}

export type CutShort = "timeout" | "stopped" | null;

export interface ProcessEnd {
  readonly ended: Ended;
  readonly cutShort: CutShort;
  readonly kept: KeptOutput;
  readonly reported: ReportedFailure | undefined;
  /** The files that it named as evidence, as they were at its end. */
  readonly evidence?: readonly EvidenceFile[] | undefined;
}

/** Resolves when the whole process tree has ended and the output is kept. */
export async function runProcess(options: ProcessOptions): Promise<ProcessEnd> {
  const { spec, outputs } = options;
  if (!options.mayStart()) return NEVER_STARTED;
  outputs.add(spec.stdoutPath, { isWantedWhole: options.isStdoutWanted ?? false });
  outputs.add(spec.stderrPath);
  const { stdoutPath: stdout, stderrPath: stderr } = spec;
  if (options.running) outputs.announce({ ...options.running, stdout, stderr });
  const launched = options.launcher.launch(spec);
  const limits = limit(launched, options);
  const ended = await launched.ended;
  const cutShort = await limits.done();
  const cuts = { stdout: outputs.take(spec.stdoutPath), stderr: outputs.take(spec.stderrPath) };
  const kept = await options.keep(ended, cuts);
  const reported = ended.exitCode === 0 ? undefined : takeReport(options.failureFile, options.now());
  return { ended, cutShort, kept, reported, evidence: await evidenceOf(reported, options) };
}

/** Like a process that the runner stopped: it does not count. */
const NEVER_STARTED: ProcessEnd = {
  ended: notStarted("ESTALE", "runner"),
  cutShort: "stopped",
  kept: { stdoutTail: "", stderrTail: "" },
  reported: undefined,
};

async function evidenceOf(
  reported: ReportedFailure | undefined,
  { spec, signal, evidenceFolder }: ProcessOptions,
): Promise<readonly EvidenceFile[] | undefined> {
  if (reported?.evidence === undefined) return undefined;
  const keeping = evidenceFolder === undefined ? {} : { keepIn: evidenceFolder };
  return collectEvidence(reported.evidence, { cwd: spec.cwd, signal, ...keeping });
}

/** Ends the whole tree on a timeout or when the runner stops. */
function limit(launched: Pick<Launched, "end">, { signal, timeoutMs, graceMs }: ProcessOptions) {
  let cutShort: CutShort = null;
  let ending: Promise<void> | undefined;
  const end = (why: CutShort) => {
    cutShort ??= why;
    ending ??= launched.end(graceMs);
  };
  const onStop = () => end("stopped");
  const cancel = timeoutMs === undefined ? undefined : systemClock.after(timeoutMs, () => end("timeout"));
  if (signal.aborted) onStop();
  else signal.addEventListener("abort", onStop, { once: true });
  return {
    /** Called when the process itself has ended; waits until its descendants have ended too. */
    async done(): Promise<CutShort> {
      cancel?.();
      signal.removeEventListener("abort", onStop);
      await ending;
      return cutShort;
    },
  };
}

function takeReport(path: string, now: number): ReportedFailure | undefined {
  const text = tryTo(() => readFileSync(path, "utf8"));
  if (text === undefined) return undefined; // most commands report nothing
  rmSync(path, { force: true });
  return parseReportedFailure(text, now);
}

/** Where the process ran, for the failure record. */
export interface ProcessFacts {
  readonly attempt: number;
  readonly agentId: string;
  /** The step as shown to people, with its values, e.g. `shell: cargo test src/a.rs`. */
  readonly step: string;
  /** Its name in the message. The same for every item, so that same failures are one group. */
  readonly command: string;
  /** Replaces the usual message of a timeout. */
  readonly message?: string;
  /** The limit that it exceeded in case of a timeout. */
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
  return compact({
    attemptNumber: run.attempt,
    timestamp: run.now,
    errorType,
    errorClass,
    errorMessage: message,
    errorContext: contextOf(run.trail ?? [], reported, kept),
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

function contextOf(
  trail: readonly string[],
  reported: ReportedFailure | undefined,
  kept: KeptOutput,
): readonly string[] | undefined {
  const context = [
    ...trail,
    ...(reported?.context ?? []),
    ...(reported?.problem === undefined ? [] : [reported.problem]),
    ...(kept.logTrouble === undefined ? [] : [`the log could not be written: ${kept.logTrouble}`]),
  ];
  return context.length === 0 ? undefined : context;
}
