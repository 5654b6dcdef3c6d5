/**
 * One run of one process, the same for the command of a map and for a step of a workflow: it is ended with its whole
 * tree when its time is over or the runner stops, its output is kept, and its own report of a failure is read.
 */
import { readFileSync, rmSync } from "node:fs";
import type { EvidenceFile } from "../item/evidence-file.ts";
import { systemClock } from "../kit/clock.ts";
import { parseReportedFailure, type ReportedFailure } from "../retry/reported-failure.ts";
import type { Cuts, KeptOutput } from "./capture.ts";
import { collectEvidence } from "./evidence.ts";
import { type Ended, type Launched, type Launcher, type LaunchSpec, notStarted } from "./launch.ts";
import type { OutputWatch } from "./output-watch.ts";
import type { RunningOutput } from "./running-output.ts";

export interface ProcessOptions {
  readonly launcher: Launcher;
  readonly spec: LaunchSpec;
  /** Keeps its running output from filling the disk. */
  readonly outputs: OutputWatch;
  /** Stdout is the result that somebody waits for, of any size. Default: no more is needed than a log keeps. */
  readonly isStdoutWanted?: boolean;
  /** Where others find its output while it runs. Default: nowhere. */
  readonly running?: Omit<RunningOutput, "stdout" | "stderr"> | undefined;
  /** The file that REDRIVE_FAILURE_FILE names to it. */
  readonly failureFile: string;
  readonly timeoutMs?: number | undefined;
  /** Between the signals TERM and KILL. */
  readonly graceMs: number;
  /** Aborted when the runner stops. */
  readonly signal: AbortSignal;
  /** Asked just before it starts: false when the lease may have expired. */
  readonly mayStart: () => boolean;
  readonly now: () => number;
  /** Where copies of the files go that it names as evidence. Default: none are made. */
  readonly evidenceFolder?: string | undefined;
  /** Keeps what is worth keeping of the output. */
  readonly keep: (ended: Ended, cuts: Cuts) => KeptOutput | Promise<KeptOutput>;
}

/** Why a process was ended before it ended by itself. */
export type CutShort = "timeout" | "stopped" | null;

/** Everything that is known when a process has ended. */
export interface ProcessEnd {
  readonly ended: Ended;
  readonly cutShort: CutShort;
  readonly kept: KeptOutput;
  /** What it said about its own failure. */
  readonly reported: ReportedFailure | undefined;
  /** The files that it named as evidence, as they were when it ended. */
  readonly evidence?: readonly EvidenceFile[] | undefined;
}

/** Resolves when nothing of the process is left and its output is kept. */
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

/** Like one that was ended by the runner's stop: it counts for nothing. */
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

/** Ends the whole tree when the time is over or the runner stops. */
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
    /** After the process itself has ended: what it left behind has to go too. */
    async done(): Promise<CutShort> {
      cancel?.();
      signal.removeEventListener("abort", onStop);
      await ending;
      return cutShort;
    },
  };
}

function takeReport(path: string, now: number): ReportedFailure | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined; // most commands report nothing
  }
  rmSync(path, { force: true });
  return parseReportedFailure(text, now);
}
