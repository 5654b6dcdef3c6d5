/** Runs a program that reads `{item, letter}` as JSON and prints the new data. No shell is involved. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { endTree } from "../attempt/process-tree.ts";
import { type Letter, letterToJson } from "../item/letter.ts";
import { systemClock } from "../std/clock.ts";
import { type Json, parseJson, stringifyJson } from "../std/json.ts";
import type { FixChange } from "./fix-rule.ts";

export type FixAnswer =
  | { readonly ok: true; readonly data: Json }
  | { readonly ok: false; readonly reason: string };

export interface AskOptions {
  /** Runs the program with `REDRIVE_DRY_RUN=1`. */
  readonly isPreview?: boolean;
  readonly signal?: AbortSignal;
}

type CommandChange = Extract<FixChange, { kind: "command" }>;

/** Resolves when the program and all processes it started have ended. Never rejects. */
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
    return { ok: true, data: parseJson(ended.stdout) };
  } catch {
    return refuse(`${program} did not print JSON: ${shorten(ended.stdout.trim()) || "(no output)"}`);
  }
}

function refuse(reason: string): FixAnswer {
  return { ok: false, reason };
}

function inputFor(letter: Letter): string {
  return `${stringifyJson({ item: letter.itemData, letter: letterToJson(letter) })}\n`;
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
  /** Why the program was stopped or could not start. */
  readonly why?: string;
}

/** Larger than any valid item data; a program that writes more is faulty. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const GRACE_MS = 1000;

function run({ program, args, cwd, input, isPreview, timeoutMs, signal: stop }: Run): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...(isPreview && { REDRIVE_DRY_RUN: "1" }) };
    const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(program, args, {
      cwd,
      env,
      stdio: ["pipe", "pipe", "pipe"],
      detached: true, // its own process group, so that it is stopped together with its children
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
    child.stdin.on("error", () => undefined); // the program may exit without reading its input
    child.stdin.end(input);
    const over = async (code: number | null, signal: NodeJS.Signals | null, reason = why) => {
      cancel();
      stop?.removeEventListener("abort", onStop);
      await ending;
      const output = { stdout: stdout.text(), stderr: stderr.text() };
      resolve({ code, signal, ...output, ...(reason !== undefined && { why: reason }) });
    };
    child.on("error", (error) => void over(null, null, `cannot be run: ${error.message}`));
    child.on("close", (code, signal) => void over(code, signal));
  });
}

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
