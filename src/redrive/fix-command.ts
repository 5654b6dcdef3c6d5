/**
 * Asks a program for the new data of a letter: `{item, letter}` goes in as JSON, the data comes out as JSON. No shell is
 * used. Whatever else happens is a reason to leave the letter as it is.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { endTree } from "../attempt/process-tree.ts";
import { type Letter, letterToJson } from "../item/letter.ts";
import { systemClock } from "../kit/clock.ts";
import type { Json } from "../kit/json.ts";
import type { FixChange } from "./fix-rule.ts";

/** The new data, or why there is none. */
export type FixAnswer =
  | { readonly ok: true; readonly data: Json }
  | { readonly ok: false; readonly reason: string };

export interface AskOptions {
  /** Only a preview: the program is told by `REDRIVE_DRY_RUN=1`. */
  readonly isPreview?: boolean;
  /** Aborted to end the program. */
  readonly signal?: AbortSignal;
}

type CommandChange = Extract<FixChange, { kind: "command" }>;

/** Resolves when the program and everything that it started have ended. It never rejects. */
export async function askCommand(
  change: CommandChange,
  letter: Letter,
  { isPreview = false, signal }: AskOptions = {},
): Promise<FixAnswer> {
  const [program, ...args] = change.command;
  const ended = await run({ ...change, program, args, isPreview, signal, input: inputFor(letter) });
  if (ended.why !== undefined) return refuse(`${program} ${ended.why}`);
  if (ended.code !== 0) return refuse(`${program} ended with ${endText(ended)}${lastLine(ended.stderr)}`);
  try {
    return { ok: true, data: JSON.parse(ended.stdout) };
  } catch {
    return refuse(`what ${program} wrote is not JSON: ${shorten(ended.stdout.trim()) || "nothing"}`);
  }
}

function refuse(reason: string): FixAnswer {
  return { ok: false, reason };
}

function inputFor(letter: Letter): string {
  return `${JSON.stringify({ item: letter.itemData, letter: letterToJson(letter) })}\n`;
}

interface Run extends Omit<CommandChange, "kind" | "command"> {
  readonly program: string;
  readonly args: readonly string[];
  readonly input: string;
  readonly isPreview: boolean;
  readonly signal: AbortSignal | undefined;
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Why it did not come to its own end. */
  readonly why?: string;
}

/** More than any item's data; a program that writes more has gone wrong. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const GRACE_MS = 1000;

function run({ program, args, cwd, input, isPreview, timeoutMs, signal: stop }: Run): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...(isPreview && { REDRIVE_DRY_RUN: "1" }) };
    const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(program, args, {
      cwd,
      env,
      stdio: ["pipe", "pipe", "pipe"],
      detached: true, // a group of its own, so that it can be ended with all that it started
    });
    const [stdout, stderr] = [gather(child.stdout), gather(child.stderr)];
    let why: string | undefined;
    let ending: Promise<void> | undefined;
    const end = (reason: string) => {
      why ??= reason;
      ending ??= endTree(child.pid ?? 0, GRACE_MS);
    };
    const onStop = () => end("was stopped");
    const cancel = systemClock.after(timeoutMs, () => end(`took longer than ${timeoutMs} ms`));
    stop?.addEventListener("abort", onStop, { once: true });
    if (stop?.aborted) onStop();
    child.stdout.on("data", () => stdout.isFull() && end("wrote too much"));
    child.stdin.on("error", () => undefined); // it need not read what it is given
    child.stdin.end(input);
    const over = async (code: number | null, signal: NodeJS.Signals | null, reason = why) => {
      cancel();
      stop?.removeEventListener("abort", onStop);
      await ending;
      const said = { stdout: stdout.text(), stderr: stderr.text() };
      resolve({ code, signal, ...said, ...(reason !== undefined && { why: reason }) });
    };
    child.on("error", (error) => void over(null, null, `cannot be run: ${error.message}`));
    child.on("close", (code, signal) => void over(code, signal));
  });
}

/** Keeps what a stream says, up to a limit. */
function gather(stream: Readable): { isFull(): boolean; text(): string } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= OUTPUT_BYTES_MAX) chunks.push(chunk);
  });
  return { isFull: () => bytes > OUTPUT_BYTES_MAX, text: () => Buffer.concat(chunks).toString() };
}

function endText({ code, signal }: Ended): string {
  return code === null ? `the signal ${signal}` : `exit code ${code}`;
}

function lastLine(stderr: string): string {
  const line = shorten(stderr.trim().split("\n").at(-1) ?? "");
  return line === "" ? "" : `: ${line}`;
}

const TEXT_LENGTH_MAX = 200;

function shorten(text: string): string {
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text;
}
