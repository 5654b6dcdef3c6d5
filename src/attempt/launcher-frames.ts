/** The runner's end of the launcher's protocol; launcher/launcher.c opens with the table of its frames. */
import { constants, endianness } from "node:os";
import { assert } from "../kit/assert.ts";
import { type Captured, type Ended, LAUNCH_ID_VARIABLE, type LaunchSpec, type StartStage } from "./launch.ts";

const KIND = { launch: 1, ask: 2, ended: 1, asked: 2 } as const;
const FLAG_KEEP_EMPTY = 1;
const LAUNCH_HEADER_BYTES = 22;
const ENDED_HEADER_BYTES = 54;
const INLINE_NONE = 0xffffffff;

/** The launcher refuses frames whose length field is above this. */
export const FRAME_BYTES_MAX = 64 * 1024 * 1024;

/** One buffer with the whole request; undefined when it is larger than a frame may be. */
export function launchFrame(id: number, launchId: string, spec: LaunchSpec): Buffer | undefined {
  const variables = Object.entries(spec.env).map(([name, value]) => `${name}=${value}`);
  const strings = [spec.cwd, spec.stdoutPath, spec.stderrPath, ...spec.argv, ...variables];
  const text = `${strings.join("\0")}\0${LAUNCH_ID_VARIABLE}=${launchId}\0`;
  const textBytes = Buffer.byteLength(text);
  const stdinBytes = typeof spec.stdin === "string" ? Buffer.byteLength(spec.stdin) : spec.stdin.byteLength;
  const size = LAUNCH_HEADER_BYTES + textBytes + stdinBytes;
  if (size - 4 > FRAME_BYTES_MAX) return undefined;
  const frame = Buffer.allocUnsafe(size);
  writeHeader(frame, KIND.launch, id);
  frame[9] = spec.keepEmptyFiles ? FLAG_KEEP_EMPTY : 0;
  frame.writeUInt32LE(spec.argv.length, 10);
  frame.writeUInt32LE(variables.length + 1, 14);
  frame.writeUInt32LE(textBytes, 18);
  frame.write(text, LAUNCH_HEADER_BYTES);
  if (typeof spec.stdin === "string") frame.write(spec.stdin, LAUNCH_HEADER_BYTES + textBytes);
  else frame.set(spec.stdin, LAUNCH_HEADER_BYTES + textBytes);
  return frame;
}

/** Asks for the process id of a launch. */
export function askFrame(id: number): Buffer {
  const frame = Buffer.allocUnsafe(9);
  writeHeader(frame, KIND.ask, id);
  return frame;
}

function writeHeader(frame: Buffer, kind: number, id: number): void {
  frame.writeUInt32LE(frame.length - 4, 0);
  frame[4] = kind;
  frame.writeUInt32LE(id, 5);
}

export interface ReplyHandler {
  ended(id: number, ended: Ended): void;
  /** 0 when it is not running. */
  asked(id: number, pid: number): void;
}

/** Cuts the launcher's output into replies. Inline output is a view of the chunk that it came in. */
export class ReplyReader {
  readonly #handler: ReplyHandler;
  #rest: Buffer | undefined;

  constructor(handler: ReplyHandler) {
    assert(endianness() === "LE", "the launcher's frames are little-endian");
    this.#handler = handler;
  }

  push(chunk: Buffer): void {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    let at = 0;
    while (bytes.length - at >= 4) {
      const end = at + 4 + bytes.readUInt32LE(at);
      if (end > bytes.length) break;
      this.#handle(bytes.subarray(at, end));
      at = end;
    }
    this.#rest = at < bytes.length ? bytes.subarray(at) : undefined;
  }

  #handle(frame: Buffer): void {
    const id = frame.readUInt32LE(5);
    if (frame[4] === KIND.ended) this.#handler.ended(id, readEnded(frame));
    else this.#handler.asked(id, frame.readUInt32LE(9));
  }
}

const STAGES: readonly (StartStage | undefined)[] = [undefined, "command", "cwd", "runner"];

function readEnded(frame: Buffer): Ended {
  const stage = STAGES[frame[9] ?? 0];
  const exitCode = frame.readInt32LE(10);
  const signal = frame.readInt32LE(14);
  const stdoutInline = frame.readUInt32LE(46);
  const stderrAt = ENDED_HEADER_BYTES + (stdoutInline === INLINE_NONE ? 0 : stdoutInline);
  return {
    exitCode: exitCode < 0 ? null : exitCode,
    signal: signal === 0 ? null : (SIGNAL_NAMES.get(signal) ?? `SIG${signal}`),
    ...(stage && { startError: errorName(frame.readInt32LE(18)), startStage: stage }),
    durationMs: frame.readDoubleLE(22),
    stdout: readCaptured(frame, frame.readDoubleLE(30), ENDED_HEADER_BYTES, stdoutInline),
    stderr: readCaptured(frame, frame.readDoubleLE(38), stderrAt, frame.readUInt32LE(50)),
  };
}

function readCaptured(frame: Buffer, bytes: number, at: number, inlineBytes: number): Captured {
  if (bytes === 0 || inlineBytes === INLINE_NONE) return { bytes };
  return { bytes, inline: frame.subarray(at, at + inlineBytes) };
}

const SIGNAL_NAMES = namesByNumber(constants.signals);
const ERROR_NAMES = namesByNumber(constants.errno);

function errorName(errno: number): string {
  return ERROR_NAMES.get(errno) ?? `E${errno}`;
}

/** Where two names have one number (EAGAIN and EWOULDBLOCK), the first is the usual one. */
function namesByNumber(numbers: object): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  for (const [name, value] of Object.entries(numbers)) if (!names.has(value)) names.set(value, name);
  return names;
}
