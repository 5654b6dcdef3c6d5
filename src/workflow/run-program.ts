/** Runs the process of a `shell` or `agent` step with its environment and folder, and evaluates its output and exit code. */
import { rmSync, statSync, writeFileSync } from "node:fs";
import type { Cuts, KeptOutput } from "../attempt/capture.ts";
import type { Ended } from "../attempt/launch.ts";
import { Output } from "../attempt/output.ts";
import { itemEnvironment, type ProcessEnd, type ProcessOptions, runProcess } from "../attempt/run-process.ts";
import type { Filled } from "../attempt/template.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import { PRIVATE_FILE } from "../std/files.ts";
import { asText, compact, type Json } from "../std/json.ts";
import { keepAgentLog } from "./agent-log.ts";
import type { Step } from "./model.ts";
import { type Program, stepEnvironment } from "./program.ts";
import { type At, passedDeadline, type StepEnd, type StepFailed } from "./step-context.ts";
import { brokenOff, endText, failureOfProcess, hopeless, logProcess, titleOf } from "./step-record.ts";
import { expand } from "./variables.ts";
import { insideRoot } from "./write-file.ts";

/** A process that was started and has ended. Its output files exist until `release` is called. */
export interface Ran {
  readonly kind: "ran";
  readonly exitCode: number | null;
  /** The failure, which is ignored when the step has `on_exit_code` steps for the exit code. */
  readonly failed?: StepFailed;
  /** True when `on_exit_code` does not apply, e.g. after a timeout. */
  readonly isFinal: boolean;
  readonly output: Output;
  release(): void;
}

export async function runProgram(step: Step, program: Program, at: At): Promise<Ran | StepEnd> {
  const { context } = at.run;
  if (at.signal.aborted) return brokenOff(at);
  const cwd = folderOf(step, at);
  if (!cwd.ok) return hopeless(at, cwd.message);
  const files = filesOf(at);
  const env = environmentOf(step, at, files.failure);
  if (!env.ok) return hopeless(at, env.message);
  const values = valuesOf(program, files);
  if (!values.ok) return { kind: "stopped", why: values.message };
  let heard: Heard | undefined;
  const end = await runProcess({
    launcher: context.launcher,
    spec: {
      argv: program.argv,
      cwd: cwd.value,
      env: { ...env.value, ...program.env, ...values.value },
      stdin: program.stdin,
      stdoutPath: files.stdout,
      stderrPath: files.stderr,
    },
    outputs: at.run.outputs,
    running: runningOf(at, program),
    failureFile: files.failure,
    timeoutMs: step.timeoutMs,
    graceMs: context.graceMs,
    signal: at.signal,
    mayStart: context.mayStart,
    now: context.clock.now,
    evidenceFolder: context.evidenceFolder,
    keep: async (ended, cuts) => {
      heard = await hear(at, program, { ended, cuts, files });
      return heard.kept;
    },
  });
  return judge(end, heard, { step, at, files, program });
}

/** Publishes the output of a running process, unless there are secrets: output is masked only after the process has ended. */
function runningOf(at: At, program: Program): ProcessOptions["running"] {
  const { logPath: log, secretValues } = at.run.context;
  if (secretValues.length > 0) return undefined;
  const isStream = program.protocol === "claude";
  return { log, title: titleOf(at), ...(isStream && { isStream }) };
}

function valuesOf({ files: values }: Program, { prefix }: Files): Filled<ValueFiles> {
  try {
    return { ok: true, value: writeValueFiles(values, prefix) };
  } catch (error) {
    removeValueFiles(Object.keys(values), prefix);
    const reason = error instanceof Error ? error.message : String(error);
    return { ok: false, message: `a value could not be written to a file (${reason})` };
  }
}

interface Case {
  readonly step: Step;
  readonly at: At;
  readonly files: Files;
  readonly program: Program;
}

function judge(end: ProcessEnd, heard: Heard | undefined, { step, at, files, program }: Case): Ran | StepEnd {
  const release = () => {
    heard?.raw.removeFiles();
    heard?.stderr.removeFiles();
    for (const path of [files.stdout, files.stderr, files.failure]) rmSync(path, { force: true });
    removeValueFiles(Object.keys(program.files), files.prefix);
  };
  const { exitCode, startError, startStage } = end.ended;
  const isStopped = end.cutShort === "stopped" && !passedDeadline(at);
  if (isStopped || startStage === "runner") {
    release();
    return isStopped
      ? { kind: "stopped" }
      : { kind: "stopped", why: `no process could be started (${startError})` };
  }
  // Fields that the process reported itself take precedence over those from the agent's log.
  const reported =
    heard?.report && end.reported ? { ...heard.report, ...end.reported } : (end.reported ?? heard?.report);
  const isFinal = end.cutShort !== null || startError !== undefined || (exitCode === 0 && !!reported);
  const output = heard?.stdout ?? new Output("stdout", { bytes: 0 }, files.stdout, undefined);
  const ran = { kind: "ran", exitCode, isFinal, output, release } as const;
  if (exitCode === 0 && !isFinal) return ran;
  const failure = failureOfProcess({ ...end, reported }, at, step.timeoutMs);
  const isHopeless = startError !== undefined && failure.errorClass === "permanent";
  const retryAfterMs = reported?.retryAfterMs;
  const isAgent = step.action.kind === "agent" ? true : undefined;
  return { ...ran, failed: compact({ kind: "failed" as const, failure, isHopeless, retryAfterMs, isAgent }) };
}

/** The output of a process. For `claude`, `stdout` is the answer and `raw` the JSON stream. */
interface Heard {
  readonly stdout: Output;
  readonly raw: Output;
  readonly stderr: Output;
  readonly kept: KeptOutput;
  readonly report?: ReportedFailure | undefined;
}

async function hear(
  at: At,
  program: Program,
  { ended, cuts, files }: { ended: Ended; cuts: Cuts; files: Files },
): Promise<Heard> {
  const raw = new Output("stdout", ended.stdout, files.stdout, cuts.stdout);
  const stderr = new Output("stderr", ended.stderr, files.stderr, cuts.stderr);
  const agent = program.protocol === "claude" ? await keepAgentLog(at, raw, ended.exitCode) : undefined;
  const answer = agent?.answer === undefined ? undefined : Buffer.from(agent.answer);
  const shown = answer ? { ...ended, stdout: { bytes: answer.length, inline: answer } } : ended;
  const titles = [titleOf(at, endText(ended)), ...(agent?.titles ?? [])];
  const paths = { stdoutPath: files.stdout, stderrPath: files.stderr };
  const shownCuts = answer ? { stderr: cuts.stderr } : cuts;
  const kept = await logProcess(at, { ended: shown, cuts: shownCuts, ...paths }, titles);
  const stdout = answer ? new Output("stdout", shown.stdout, files.stdout, undefined) : raw;
  return { stdout, raw, stderr, kept, report: agent?.report };
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

function folderOf(step: Step, at: At): Filled<string> {
  const { root } = at.run.context;
  if (step.workingDir === undefined) return { ok: true, value: root };
  const path = expand(step.workingDir, at.scope.all());
  const folder = path.ok ? insideRoot(root, path.value) : path;
  if (!folder.ok) return { ok: false, message: `working_dir: ${folder.message}` };
  const isFolder = statSync(folder.value, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isFolder ? folder : { ok: false, message: `working_dir: there is no folder "${step.workingDir}".` };
}

function environmentOf(step: Step, at: At, failureFile: string): Filled<Record<string, string>> {
  const own = stepEnvironment(step, at);
  if (!own.ok) return own;
  const { item, item_id: itemId, job_id: jobId } = at.scope.all();
  const { attempt, env } = at.run.context;
  const textOf = (value: Json | undefined) => (value === undefined ? undefined : asText(value));
  const known = { item, itemId: textOf(itemId), jobId: textOf(jobId), attempt, failureFile };
  return { ok: true, value: { ...env, ...own.value, ...itemEnvironment(known) } };
}

type ValueFiles = Readonly<Record<string, string>>;

/** Writes each value to a file whose path begins with `prefix`. Throws when a file cannot be written, as on a full disk. */
export function writeValueFiles(values: Readonly<Record<string, string>>, prefix: string): ValueFiles {
  const entries = Object.entries(values).map(([name, value]) => {
    writeFileSync(`${prefix}.${name}`, value, { mode: PRIVATE_FILE });
    return [name, `${prefix}.${name}`];
  });
  return Object.fromEntries(entries) as ValueFiles;
}

export function removeValueFiles(names: readonly string[], prefix: string): void {
  for (const name of names) rmSync(`${prefix}.${name}`, { force: true });
}
