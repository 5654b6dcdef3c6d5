/** Runs the process of a `shell` or `agent` step with its environment and folder, and evaluates its output and exit code. */
import { rmSync, statSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import type { AgentReport } from "../agent/agent-record.ts";
import { AgentWatch } from "../agent/agent-watch.ts";
import { type AgentSession, hasNotBegun } from "../agent/continue-session.ts";
import { REPORT_LINES } from "../agent/formats/report-lines.ts";
import type { Cuts, KeptOutput } from "../attempt/capture.ts";
import type { Ended } from "../attempt/launch.ts";
import { Output } from "../attempt/output.ts";
import { itemEnvironment, type ProcessEnd, type ProcessOptions, runProcess } from "../attempt/run-process.ts";
import { RedriveError } from "../errors.ts";
import { addUsage } from "../item/agent-usage.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import { describeThrown } from "../retry/thrown.ts";
import { PRIVATE_FILE } from "../std/files.ts";
import { asText, compact, type Json } from "../std/json.ts";
import { keepAgentLog } from "./agent-log.ts";
import type { Step } from "./model.ts";
import { type Program, stepEnvironment } from "./program.ts";
import { type At, passedDeadline, type RunningAgent, type StepEnd, type StepFailed } from "./step-context.ts";
import { brokenOff, endText, failureOfProcess, logProcess, titleOf } from "./step-record.ts";
import { expand, naming } from "./variables.ts";
import { insideRoot } from "./write-file.ts";

/** A process that has ended. Its output files exist until `release` is called. */
export interface Ran {
  readonly kind: "ran";
  readonly exitCode: number | null;
  /** The failure, which is ignored when the step has `on_exit_code` steps for the exit code. */
  readonly failed?: StepFailed;
  /** True when `on_exit_code` does not apply, e.g. after a timeout. */
  readonly isFinal: boolean;
  readonly output: Output;
  readonly stderr?: Output | undefined;
  /** The last report of an agent. */
  readonly report?: AgentReport | undefined;
  /** True if the agent was to continue a session and failed before doing any work. */
  readonly isSessionLost: boolean;
  release(): void;
}

/** `session` is the session to continue. */
export async function runProgram(
  step: Step,
  program: Program,
  at: At,
  session?: AgentSession,
): Promise<Ran | StepEnd> {
  const { context } = at.run;
  if (at.signal.aborted) return brokenOff(at);
  const cwd = folderOf(step, at);
  const files = filesOf(at);
  const env = { ...environmentOf(step, at, files.failure), ...program.env };
  try {
    Object.assign(env, writeValueFiles(program.files, files.prefix));
  } catch (error) {
    removeValueFiles(Object.keys(program.files), files.prefix);
    return {
      kind: "stopped",
      why: `a value could not be written to a file (${describeThrown(error).message})`,
    };
  }
  let printed: Printed | undefined;
  const agent = agentOf(step, program, { files, session }, at);
  const watch = agent?.watch;
  watch?.start();
  const end = await runProcess({
    launcher: context.launcher,
    spec: {
      ...{ argv: program.argv, cwd, env, stdin: program.stdin },
      ...{ stdoutPath: files.stdout, stderrPath: files.stderr, keepFiles: agent !== undefined },
    },
    outputs: at.run.outputs,
    isStdoutWanted: watch !== undefined,
    running: runningOf(at, program),
    failureFile: files.failure,
    timeoutMs: step.timeoutMs,
    graceMs: context.graceMs,
    signal: at.signal,
    halt: watch?.halt,
    mayStart: context.mayStart,
    now: context.clock.now,
    evidenceFolder: context.evidenceFolder,
    keep: async (ended, cuts) => {
      printed = await keepPrinted(at, agent, { ended, cuts, files });
      return printed.kept;
    },
  }).finally(() => agent?.end());
  const release = () => {
    printed?.raw.removeFiles();
    printed?.stderr.removeFiles();
    for (const path of [files.stdout, files.stderr, files.failure]) rmSync(path, { force: true });
    removeValueFiles(Object.keys(program.files), files.prefix);
  };
  const { startError, startStage } = end.ended;
  const isStopped = end.cutShort === "stopped" && !passedDeadline(at);
  if (!isStopped && startStage !== "runner") {
    const output = printed?.stdout ?? new Output("stdout", { bytes: 0 }, files.stdout, undefined);
    const result = resultOf(finished(end, watch), printed?.report, step, at);
    const report = printed?.agentReport;
    const isSessionLost =
      session !== undefined &&
      result.failed !== undefined &&
      !end.cutShort &&
      (!report || hasNotBegun(report));
    return { kind: "ran", output, stderr: printed?.stderr, release, report, isSessionLost, ...result };
  }
  release();
  return isStopped
    ? { kind: "stopped" }
    : { kind: "stopped", why: `no process could be started (${startError})` };
}

/** Publishes the output of a running process, unless there are secrets: output is masked only after the process has ended. */
function runningOf(at: At, program: Program): ProcessOptions["running"] {
  const { logPath: log, secretValues } = at.run.context;
  if (secretValues.length > 0) return undefined;
  return { log, title: titleOf(at), ...(program.protocol === "claude" && { isStream: true }) };
}

/** Publishes the running output again as a stream once its first line has revealed the format. */
function announceStream(at: At, program: Program, { stdout, stderr }: Files): void {
  const running = runningOf(at, program);
  if (running) at.run.outputs.announce({ ...running, stdout, stderr, isStream: true });
}

/** Programs that only report their usage also print other output, which is their answer. */
function isStream({ format }: AgentReport): boolean {
  return format !== undefined && format !== REPORT_LINES;
}

/** A running agent, with the watch on its output and the receiver of its reports. */
interface Agent {
  readonly watch: AgentWatch;
  readonly running: RunningAgent | undefined;
  end(): void;
}

function agentOf(
  step: Step,
  program: Program,
  { files, session }: { readonly files: Files; readonly session: AgentSession | undefined },
  at: At,
): Agent | undefined {
  const { action, silenceMs } = step;
  if (action.kind !== "agent") return undefined;
  const { prices, outliveMs, begin } = at.run.context.agents ?? {};
  const format = action.protocol === "claude" ? ("claude" as const) : undefined;
  const model = modelOf(program.argv);
  const running = begin?.({
    ...{ step: at.path.join(" > "), agent: basename(program.argv[0] ?? "agent") },
    ...{ stdoutPath: files.stdout, format, model, before: session?.before },
  });
  let isAnnounced = format !== undefined;
  const watch = new AgentWatch({
    ...{ stdoutPath: files.stdout, stderrPath: files.stderr, silenceMs, outliveMs, prices, format, model },
    before: session?.before,
    onReport: (report) => {
      if (!isAnnounced && isStream(report)) {
        isAnnounced = true;
        announceStream(at, program, files);
      }
      const failure = running?.report(report);
      if (failure) watch.end(failure);
    },
  });
  const end = () => {
    watch.stop();
    running?.discard();
  };
  return { watch, running, end };
}

/** Returns the model from the command line, because not all streams contain it. */
function modelOf(argv: readonly string[]): string | undefined {
  const at = argv.findIndex((word) => word === "-m" || word === "--model");
  return at >= 0 ? argv[at + 1] : argv.find((word) => word.startsWith("--model="))?.slice("--model=".length);
}

/** An agent that was ended after its final message counts as having ended by itself. */
function finished(end: ProcessEnd, watch: AgentWatch | undefined): ProcessEnd {
  if (!watch?.hasOutlived || end.cutShort !== "halted") return end;
  return { ...end, cutShort: null, ended: { ...end.ended, exitCode: 0, signal: null } };
}

function resultOf(
  end: ProcessEnd,
  report: ReportedFailure | undefined,
  step: Step,
  at: At,
): Pick<Ran, "exitCode" | "isFinal" | "failed"> {
  const { exitCode, startError } = end.ended;
  // Fields that the process reported itself take precedence over those from the agent's log.
  const reported = report && end.reported ? { ...report, ...end.reported } : (end.reported ?? report);
  const isFinal = end.cutShort !== null || startError !== undefined || (exitCode === 0 && !!reported);
  if (exitCode === 0 && !isFinal) return { exitCode, isFinal };
  const failure = failureOfProcess({ ...end, reported }, at, step.timeoutMs);
  const isHopeless = startError !== undefined && failure.errorClass === "permanent";
  const retryAfterMs = reported?.retryAfterMs;
  const isAgent = step.action.kind === "agent" ? (true as const) : undefined;
  const failed = compact({ kind: "failed" as const, failure, isHopeless, retryAfterMs, isAgent });
  return { exitCode, isFinal, failed };
}

/**
 * The output of a process. For an agent with a known stream, `stdout` is its answer and `raw` is the stream.
 */
interface Printed {
  readonly stdout: Output;
  readonly raw: Output;
  readonly stderr: Output;
  readonly kept: KeptOutput;
  readonly report?: ReportedFailure | undefined;
  readonly agentReport?: AgentReport | undefined;
}

async function keepPrinted(
  at: At,
  agent: Agent | undefined,
  { ended, cuts, files }: { ended: Ended; cuts: Cuts; files: Files },
): Promise<Printed> {
  const raw = new Output("stdout", ended.stdout, files.stdout, cuts.stdout);
  const stderr = new Output("stderr", ended.stderr, files.stderr, cuts.stderr);
  const watch = agent?.watch;
  const report = watch?.finish(raw);
  if (report) await agent?.running?.ended(report);
  if (report?.usage) at.run.usage = addUsage(at.run.usage, report.usage);
  const stream = report && isStream(report) ? report : undefined;
  const titles = stream ? await keepAgentLog(at, raw) : [];
  const answer = stream?.answer === undefined ? undefined : Buffer.from(stream.answer);
  const shown = answer ? { ...ended, stdout: { bytes: answer.length, inline: answer } } : ended;
  const paths = { stdoutPath: files.stdout, stderrPath: files.stderr };
  const shownCuts = answer ? { stderr: cuts.stderr } : cuts;
  const kept = await logProcess(at, { ended: shown, cuts: shownCuts, ...paths }, [
    titleOf(at, endText(ended)),
    ...titles,
  ]);
  const stdout = answer ? new Output("stdout", shown.stdout, files.stdout, undefined) : raw;
  const failure = report && watch?.failureOf(report, ended.exitCode, at.run.context.clock.now());
  return { stdout, raw, stderr, kept, report: failure, agentReport: report };
}

interface Files {
  readonly stdout: string;
  readonly stderr: string;
  readonly failure: string;
  readonly prefix: string;
}

function filesOf({ run }: At): Files {
  run.fileCount += 1;
  const prefix = `${run.context.scratch}-${run.fileCount}`;
  return { stdout: `${prefix}.out`, stderr: `${prefix}.err`, failure: `${prefix}.failure.json`, prefix };
}

function folderOf(step: Step, at: At): string {
  const { root } = at.run.context;
  const { workingDir } = step;
  if (workingDir === undefined) return root;
  const folder = naming("working_dir", () => insideRoot(root, expand(workingDir, at.scope.all())));
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return folder;
  throw new RedriveError("usage", `working_dir: there is no folder "${workingDir}".`);
}

function environmentOf(step: Step, at: At, failureFile: string): Record<string, string> {
  const own = stepEnvironment(step, at);
  const { item, item_id: itemId, job_id: jobId } = at.scope.all();
  const { attempt, env } = at.run.context;
  const textOf = (value: Json | undefined) => (value === undefined ? undefined : asText(value));
  const known = { item, itemId: textOf(itemId), jobId: textOf(jobId), attempt, failureFile };
  return { ...env, ...own, ...itemEnvironment(known) };
}

/** Writes each value to a file whose path begins with `prefix`. Throws when a file cannot be written, as on a full disk. */
export function writeValueFiles(
  values: Readonly<Record<string, string>>,
  prefix: string,
): Record<string, string> {
  const entries = Object.entries(values).map(([name, value]) => {
    writeFileSync(`${prefix}.${name}`, value, { mode: PRIVATE_FILE });
    return [name, `${prefix}.${name}`];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

export function removeValueFiles(names: readonly string[], prefix: string): void {
  for (const name of names) rmSync(`${prefix}.${name}`, { force: true });
}
