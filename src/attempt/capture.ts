/**
 * What is kept of an attempt's output: its tails for the record, all of it (up to a limit) in the log file. The
 * output files themselves are gone afterwards.
 */
import { isStoreTrouble, WorkError } from "../errors.ts";
import type { Ended } from "./launch.ts";
import type { LogWriter } from "./log-writer.ts";
import { Output } from "./output.ts";
import { composeLog, type OutputMask, writeLog } from "./output-log.ts";
import { type Cut, LOG_BYTES_MAX } from "./output-watch.ts";

export interface KeepOutputOptions {
  readonly ended: Ended;
  /** Where the log goes. Its folder is made when there is something to write. */
  readonly logPath: string;
  readonly stdoutPath: string;
  readonly stderrPath: string;
  /** Kept of each stream in the record. Default 8,192. */
  readonly tailBytesMax?: number;
  /** Kept of each stream in the log. Default 64 MiB. */
  readonly logBytesMax?: number;
  /** What an `OutputWatch` cut off meanwhile. */
  readonly cuts?: Cuts;
  /** Lines of ours above the output. With any, the log is appended to, and written even without output. */
  readonly titles?: readonly string[];
  /** Replaces what must not be written down. */
  readonly mask?: OutputMask;
  /** Leaves the output files to the caller. Default false. */
  readonly keepFiles?: boolean;
}

/** What was cut off the streams of one process. */
export interface Cuts {
  readonly stdout?: Cut | undefined;
  readonly stderr?: Cut | undefined;
}

export interface KeptOutput {
  readonly stdoutTail: string;
  readonly stderrTail: string;
  /** More of the end of a failure's output, to find in it what went wrong; the record has the tails alone. */
  readonly ends?: { readonly stdoutTail: string; readonly stderrTail: string };
  /** The path of the log; absent when there was no output. */
  readonly log?: string;
  /** Why there is no log although there was output. */
  readonly logTrouble?: string;
}

const TAIL_BYTES_MAX = 8192;
/** The line that tells what failed can stand hundreds of lines before the last one. */
const END_BYTES_MAX = 65_536;

/** Rejects with a store error when the log cannot be written, as when the disk is full. */
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

/** As `keepOutput` for a success that said little: its log is written later. Null when it has to be done at once. */
export function keepLater(
  { ended, cuts = {}, logPath }: KeepOutputOptions,
  writer: LogWriter,
): KeptOutput | null {
  if (ended.exitCode !== 0 || cuts.stdout || cuts.stderr) return null;
  const outputs = [
    new Output("stdout", ended.stdout, "", undefined),
    new Output("stderr", ended.stderr, "", undefined),
  ];
  const said = outputs.filter((output) => output.bytes > 0);
  if (said.length === 0) return { stdoutTail: "", stderrTail: "" };
  if ([ended.stdout, ended.stderr].some(({ bytes, inline }) => bytes > 0 && !inline)) return null;
  const log = composeLog(said.map((output) => output.forLog(LOG_BYTES_MAX)));
  if (!writer.add(logPath, log)) return null;
  return { stdoutTail: "", stderrTail: "", log: logPath }; // a success has no use for tails
}

/** A log that cannot be written is no reason to lose the result: the record says that it is missing. */
export async function keepOrSayWhy(options: KeepOutputOptions): Promise<KeptOutput> {
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

function asStoreTrouble(error: unknown, logPath: string): WorkError {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  const isFull = code === "ENOSPC" || code === "EDQUOT";
  return new WorkError(
    isFull ? "store_full" : "store_unavailable",
    `The log ${logPath} could not be written: ${code}.`,
    {
      cause: error,
      hint: isFull ? "Free some space on that disk." : "Check that its folder exists and is writable.",
    },
  );
}
