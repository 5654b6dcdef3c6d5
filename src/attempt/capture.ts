/** Keeps the output of an attempt: tails in the failure record, and all of it (up to a limit) in the log. Detects a full disk. */
import { statfsSync } from "node:fs";
import { isStoreTrouble, RedriveError } from "../errors.ts";
import type { Outcome } from "../item/settlement.ts";
import { systemClock } from "../std/clock.ts";
import { compact } from "../std/json.ts";
import { codeOf } from "../std/thrown.ts";
import { tryTo } from "../std/try-to.ts";
import type { Ended } from "./launch.ts";
import type { LogWriter } from "./log-writer.ts";
import { composeLog, Output, type OutputMask, writeLog } from "./output.ts";
import { type Cut, LOG_BYTES_MAX } from "./output-watch.ts";

export interface KeepOutputOptions {
  readonly ended: Ended;
  /** The path of the log. Its folder is created with the first output. */
  readonly logPath: string;
  readonly stdoutPath: string;
  readonly stderrPath: string;
  /** How many bytes of each stream the failure record keeps. Default 8,192. */
  readonly tailBytesMax?: number;
  /** How many bytes of each stream the log keeps. Default 64 MiB. */
  readonly logBytesMax?: number;
  /** The parts that an `OutputWatch` has cut off. */
  readonly cuts?: Cuts;
  /** Lines above the output. If given, they are appended to the log even if there is no output. */
  readonly titles?: readonly string[];
  /** Masks secrets. */
  readonly mask?: OutputMask | undefined;
  /** Whether the caller needs the output files afterwards. Default false. */
  readonly keepFiles?: boolean;
}

/** The cuts in the streams of one process. */
export type Cuts = { readonly [stream in "stdout" | "stderr"]?: Cut | undefined };

interface Tails {
  readonly stdoutTail: string;
  readonly stderrTail: string;
}

export interface KeptOutput extends Tails {
  /** Longer tails, to find the error line of a failure; the record keeps only the short ones. */
  readonly ends?: Tails;
  /** The path of the log; absent when there was no output. */
  readonly log?: string;
  /** Why the log is missing despite output. */
  readonly logTrouble?: string;
}

const TAIL_BYTES_MAX = 8192;
/** The error line can be hundreds of lines before the last one. */
const END_BYTES_MAX = 65_536;

/** Writes the log and returns the tails. Rejects with a store error when the log cannot be written, e.g. on a full disk. */
export async function keepOutput(options: KeepOutputOptions): Promise<KeptOutput> {
  const { ended, cuts = {}, titles = [], mask } = options;
  const { tailBytesMax = TAIL_BYTES_MAX, logBytesMax = LOG_BYTES_MAX } = options;
  const stdout = new Output("stdout", ended.stdout, options.stdoutPath, cuts.stdout);
  const stderr = new Output("stderr", ended.stderr, options.stderrPath, cuts.stderr);
  const outputs = [stdout, stderr].filter((output) => output.bytes > 0);
  try {
    const tailsOf = (bytesMax: number) => ({
      stdoutTail: stdout.tail(bytesMax, mask),
      stderrTail: stderr.tail(bytesMax, mask),
    });
    const isLong = ended.exitCode !== 0 && outputs.some((output) => output.bytes > tailBytesMax);
    const tails = { ...tailsOf(tailBytesMax), ...(isLong && { ends: tailsOf(END_BYTES_MAX) }) };
    if (outputs.length === 0 && titles.length === 0) return tails;
    const streams = outputs.map((output) => output.forLog(logBytesMax));
    await writeLog(options.logPath, streams, { titles, mask });
    if (!options.keepFiles) for (const output of outputs) output.removeFiles();
    return { ...tails, log: options.logPath };
  } catch (error) {
    throw asStoreTrouble(error, options.logPath);
  }
}

/** Like `keepOutput`, but writes the small log of a success later. Returns null when it must be written now. */
export function keepLater(
  { ended, cuts = {}, logPath }: KeepOutputOptions,
  writer: LogWriter,
): KeptOutput | null {
  if (ended.exitCode !== 0 || cuts.stdout || cuts.stderr) return null;
  const streams = (["stdout", "stderr"] as const).filter((name) => ended[name].bytes > 0);
  if (streams.length === 0) return { stdoutTail: "", stderrTail: "" };
  if (streams.some((name) => !ended[name].inline)) return null;
  const log = composeLog(
    streams.map((name) => new Output(name, ended[name], "", undefined).forLog(LOG_BYTES_MAX)),
  );
  if (!writer.add(logPath, log)) return null;
  return { stdoutTail: "", stderrTail: "", log: logPath }; // a success needs no tails
}

/**
 * Like `keepOutput`, but if the log cannot be written, returns the reason in `logTrouble` instead of
 * rejecting.
 */
export async function keepOrExplain(options: KeepOutputOptions): Promise<KeptOutput> {
  try {
    return await keepOutput(options);
  } catch (error) {
    if (!isStoreTrouble(error)) throw error;
    const { ended, mask } = options;
    const tail = (captured: Ended["stdout"]) =>
      captured.inline ? new Output("stdout", captured, "", undefined).tail(TAIL_BYTES_MAX, mask) : "";
    return { stdoutTail: tail(ended.stdout), stderrTail: tail(ended.stderr), logTrouble: error.message };
  }
}

function asStoreTrouble(error: unknown, logPath: string): RedriveError {
  const code = codeOf(error) ?? String(error);
  const hasNoSpace = code === "ENOSPC" || code === "EDQUOT";
  const hint = hasNoSpace ? "Free some space on that disk." : "Check that its folder exists and is writable.";
  const message = `The log ${logPath} could not be written: ${code}.`;
  return new RedriveError(hasNoSpace ? "store_full" : "store_unavailable", message, { cause: error, hint });
}

/** With less free space, the disk is considered full. */
const ROOM_BYTES_MIN = 64 * 1024;
/** Without a pause, the item would be leased again immediately. */
const PAUSE_MS = 1000;

/** Does not count a failed attempt while the log disk is full, because that may have caused the failure. */
export async function unlessDiskFull(
  outcome: Outcome,
  folder: string,
  signal: () => AbortSignal,
): Promise<Outcome> {
  if (outcome.kind !== "failed" || !isFull(folder)) return outcome;
  await systemClock.sleep(PAUSE_MS, signal());
  return compact({ kind: "released" as const, why: "the log disk is full", log: outcome.log });
}

/** Limits how often the free space is read. */
const RECHECK_MS = 250;

/** Caches whether the disk is full. A command may succeed although its output was lost on a full disk. */
export class DiskRoom {
  readonly #now: () => number;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #isFull = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  isFull(folder: string): boolean {
    const now = this.#now();
    if (Math.abs(now - this.#checkedAt) >= RECHECK_MS) {
      this.#checkedAt = now;
      this.#isFull = tryTo(() => isFull(folder)) ?? false; // a missing folder is not full
    }
    return this.#isFull;
  }
}

function isFull(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < ROOM_BYTES_MIN;
}
