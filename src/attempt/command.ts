/**
 * The handler of a map: one attempt is one run of the user's command, without a shell. It says what the command gets
 * to know of its item, ends it when its time is over or the runner stops, and keeps what it said.
 */
import { readFileSync, rmSync } from "node:fs";
import { isStoreTrouble } from "../errors.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Outcome } from "../item/outcome.ts";
import { asText } from "../kit/json.ts";
import { parseReportedFailure, type ReportedFailure } from "../retry/reported-failure.ts";
import { type KeptOutput, keepOutput } from "./capture.ts";
import { type CommandCase, type Cut, commandFailure, unfillable } from "./command-failure.ts";
import type { AttemptContext, Handler } from "./handler.ts";
import type { Ended, Launched, Launcher } from "./launch.ts";
import { OutputWatch } from "./output-watch.ts";
import { compileCommand } from "./template.ts";

export interface CommandOptions {
  readonly launcher: Launcher;
  /** The command and its arguments, with variables. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly jobId: string;
  readonly timeoutMs?: number;
  /** Between the signals TERM and KILL. */
  readonly graceMs: number;
  /** Where a slot's files are while its attempt runs: a path that these files start with, in a folder that is there. */
  readonly scratch: (slot: number) => string;
  readonly logPath: (itemId: string, attempt: number) => string;
  readonly now: () => number;
}

/** `close` ends the watch over the outputs; the attempts have ended by then. */
export function commandHandler(options: CommandOptions): { handle: Handler; close(): void } {
  const worker: Worker = { ...options, fill: compileCommand(options.command), outputs: new OutputWatch() };
  const ticking = setInterval(() => worker.outputs.tick(), OUTPUT_TICK_MS);
  return {
    handle: (item, context) => runCommand(item, context, worker),
    close: () => clearInterval(ticking),
  };
}

const OUTPUT_TICK_MS = 500;

interface Worker extends CommandOptions {
  readonly fill: ReturnType<typeof compileCommand>;
  readonly outputs: OutputWatch;
}

/** More than this does not fit into one variable or argument on Linux. */
const VARIABLE_BYTES_MAX = 120_000;

async function runCommand(item: LeasedItem, context: AttemptContext, worker: Worker): Promise<Outcome> {
  const filled = worker.fill({ item: item.data, item_id: item.itemId });
  if (!filled.ok) return { kind: "failed", failure: unfillable(item, context, filled.message, worker) };
  const files = filesOf(worker.scratch(context.slot), item);
  worker.outputs.add(files.stdout);
  worker.outputs.add(files.stderr);
  const launched = worker.launcher.launch({
    argv: filled.value,
    cwd: worker.cwd,
    env: environment(item, worker.jobId, files),
    stdin: `${asText(item.data)}\n`,
    stdoutPath: files.stdout,
    stderrPath: files.stderr,
    keepEmptyFiles: true,
  });
  const limits = limitAttempt(launched, context.signal, worker);
  const ended = await launched.ended;
  const cut = await limits.done();
  const kept = await keep(item, ended, files, worker);
  const reported = ended.exitCode === 0 ? undefined : takeReport(files.failure, worker.now());
  return judge({ item, context, worker, ended, kept, reported, cut, argv: filled.value });
}

/** A log that cannot be written is no reason to lose the result: the record says that it is missing. */
async function keep(item: LeasedItem, ended: Ended, files: Files, worker: Worker): Promise<KeptOutput> {
  const cuts = { stdout: worker.outputs.take(files.stdout), stderr: worker.outputs.take(files.stderr) };
  const logPath = worker.logPath(item.itemId, item.attempt);
  try {
    return await keepOutput({ ended, stdoutPath: files.stdout, stderrPath: files.stderr, logPath, cuts });
  } catch (error) {
    if (!isStoreTrouble(error)) throw error;
    const inline = (captured: Ended["stdout"]) => captured.inline?.toString("utf8") ?? "";
    return { stdoutTail: inline(ended.stdout), stderrTail: inline(ended.stderr), logTrouble: error.message };
  }
}

interface Files {
  readonly stdout: string;
  readonly stderr: string;
  readonly failure: string;
}

/** A report is the attempt's own: one that a success left behind must not be taken for the next one's. */
function filesOf(prefix: string, { ref, attempt }: LeasedItem): Files {
  return {
    stdout: `${prefix}.out`,
    stderr: `${prefix}.err`,
    failure: `${prefix}-${ref}-${attempt}.failure.json`,
  };
}

function environment(item: LeasedItem, jobId: string, files: Files): Record<string, string> {
  const text = asText(item.data);
  const fits =
    text.length < VARIABLE_BYTES_MAX && Buffer.byteLength(text) < VARIABLE_BYTES_MAX && !text.includes("\0");
  return {
    ...(fits && { REDRIVE_ITEM: text }),
    REDRIVE_ITEM_ID: item.itemId,
    REDRIVE_ATTEMPT: String(item.attempt),
    REDRIVE_JOB_ID: jobId,
    REDRIVE_FAILURE_FILE: files.failure,
  };
}

/** Ends the whole tree when the time is over or the runner stops. */
function limitAttempt(launched: Pick<Launched, "end">, signal: AbortSignal, { timeoutMs, graceMs }: Worker) {
  let cut: Cut = null;
  let ending: Promise<void> | undefined;
  const end = (why: Cut) => {
    cut ??= why;
    ending ??= launched.end(graceMs);
  };
  const onStop = () => end("stopped");
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => end("timeout"), timeoutMs);
  if (signal.aborted) onStop();
  else signal.addEventListener("abort", onStop, { once: true });
  return {
    /** After the command itself has ended: what it left behind has to go too. */
    async done(): Promise<Cut> {
      clearTimeout(timer);
      signal.removeEventListener("abort", onStop);
      await ending;
      return cut;
    },
  };
}

/** What the command itself says about its failure. */
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

function judge(attempt: CommandCase): Outcome {
  const { ended, kept, cut } = attempt;
  const log = kept.log === undefined ? {} : { log: kept.log };
  if (cut === "stopped") return { kind: "released", why: "the runner stopped", ...log };
  if (ended.startStage === "runner") {
    return { kind: "released", why: `no process could be started (${ended.startError})`, ...log };
  }
  if (ended.exitCode === 0 && cut === null) return { kind: "succeeded", stdout: ended.stdout, ...log };
  const retryAfterMs = attempt.reported?.retryAfterMs;
  return {
    kind: "failed",
    failure: commandFailure(attempt),
    ...log,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}
