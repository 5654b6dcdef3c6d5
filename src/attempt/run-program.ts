/**
 * Runs a small program with a text on stdin, and ends it with all its descendants. Used for fixes and alerts,
 * not for items.
 */
import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { systemClock } from "../std/clock.ts";
import { endTree } from "./process-tree.ts";

interface ProgramOptions {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly input: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Added to the environment of this process. Default: nothing. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether stdout is discarded. Default false. */
  readonly ignoresOutput?: boolean;
}

export interface EndedProgram {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Why the program was stopped or could not start. */
  readonly why?: string;
}

/** Larger than any valid item data; a program that writes more is faulty. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const GRACE_MS = 1000;

/** Resolves when the program and all processes it started have ended. Never rejects. */
export function runProgram(options: ProgramOptions): Promise<EndedProgram> {
  const { command, cwd, input, timeoutMs, signal: stop, env, ignoresOutput = false } = options;
  const [program, ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["pipe", ignoresOutput ? "ignore" : "pipe", "pipe"],
      detached: true, // its own process group, so that it is stopped together with its children
    });
    let why: string | undefined;
    let ending: Promise<void> | undefined;
    const end = (reason: string) => {
      why ??= reason;
      ending ??= endTree(child.pid ?? 0, GRACE_MS);
    };
    const [stdout, stderr] = [gather(child.stdout, () => end("wrote too much")), gather(child.stderr)];
    const onStop = () => end("was stopped");
    const cancel = systemClock.after(timeoutMs, () => end(`took longer than ${timeoutMs} ms`));
    stop?.addEventListener("abort", onStop, { once: true });
    if (stop?.aborted) onStop();
    child.stdin?.on("error", () => undefined); // the program may exit without reading its input
    child.stdin?.end(input);
    const over = async (code: number | null, signal: NodeJS.Signals | null, reason = why) => {
      cancel();
      stop?.removeEventListener("abort", onStop);
      await ending;
      const output = { stdout: stdout(), stderr: stderr() };
      resolve({ code, signal, ...output, ...(reason !== undefined && { why: reason }) });
    };
    child.on("error", (error) => void over(null, null, `cannot be run: ${error.message}`));
    child.on("close", (code, signal) => void over(code, signal));
  });
}

/** Collects the output of a stream, up to a limit. */
function gather(stream: Readable | null, onFull: () => void = () => undefined): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= OUTPUT_BYTES_MAX) chunks.push(chunk);
    else onFull();
  });
  return () => Buffer.concat(chunks).toString();
}

/** Returns the last line of stderr after a colon, or an empty string. */
export function lastLine({ stderr }: EndedProgram): string {
  const line = (stderr.trim().split("\n").at(-1) ?? "").slice(0, LINE_CHARS_MAX);
  return line === "" ? "" : `: ${line}`;
}

const LINE_CHARS_MAX = 200;
