/** The native launcher: one small process starts the commands. The frames are described at the top of launcher/launcher.c. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { constants, endianness } from "node:os";
import type { Readable, Writable } from "node:stream";
import { assert } from "../std/assert.ts";
import { BriefMap } from "../std/brief-map.ts";
import { codeOf } from "../std/thrown.ts";
import {
  type Captured,
  CLOSE_GRACE_MS,
  type Ended,
  LAUNCH_ID_VARIABLE,
  LAUNCHER_LOST,
  type Launched,
  type Launcher,
  type LaunchSpec,
  notStarted,
  type QueuedLaunch,
  type StartStage,
} from "./launch.ts";
import { endTree, newLauncherName } from "./process-tree.ts";

/** Starts its process with the first launch, and again after that process has died. */
export function openNativeLauncher(binary: string): Launcher {
  let launcher: LauncherProcess | undefined;
  let marksFile: string | undefined;
  return {
    kind: "native",
    canQueue: process.platform === "linux", // on other systems, its clock may differ from that of Node
    setMarksFile(path) {
      marksFile = path;
      if (launcher?.usable) launcher.setMarksFile(path);
    },
    recall: () => launcher?.recall(),
    launch(spec) {
      try {
        if (!launcher?.usable) {
          launcher = new LauncherProcess(binary);
          if (marksFile !== undefined) launcher.setMarksFile(marksFile);
        }
      } catch (error) {
        return neverStarted(codeOf(error) ?? LAUNCHER_LOST, "runner");
      }
      return launcher.launch(spec);
    },
    async close() {
      const closing = launcher;
      launcher = undefined;
      await closing?.close();
    },
  };
}
function neverStarted(error: string, stage: StartStage): Launched {
  return { ended: Promise.resolve(notStarted(error, stage)), end: async () => undefined };
}

/** A queued launch whose command may not have started yet. */
interface Waiting {
  readonly queued: QueuedLaunch;
  isStarted: boolean;
}

/** One launcher process and its launches. */
class LauncherProcess {
  readonly #name = newLauncherName();
  readonly #running = new BriefMap<number, (ended: Ended) => void>();
  readonly #waiting = new BriefMap<number, Waiting>();
  readonly #asking = new Map<number, (pid: number) => void>();
  readonly #child: ChildProcess;
  readonly #requests: Writable;
  readonly #replies: Readable;
  readonly #gone: Promise<void>;
  #idLast = 0;
  #corked = false;
  #usable = true;

  /** Detached, so that a signal to the runner's process group does not end it. */
  constructor(binary: string) {
    const child = spawn(binary, [], { stdio: ["pipe", "pipe", "inherit"], detached: true });
    child.on("error", () => undefined); // "close" is emitted afterwards
    // Node returns a child without pipes when this process has too many open files.
    if (!child.stdin || !child.stdout) throw new Error("no pipes could be created for the launcher");
    this.#child = child;
    this.#requests = child.stdin;
    this.#replies = child.stdout;
    const reader = new ReplyReader({
      ended: (id, ended) => this.#finish(id, ended),
      asked: (id, pid) => this.#answer(id, pid),
      started: (id) => this.#started(id),
    });
    child.stdout.on("data", (chunk: Buffer) => reader.push(chunk));
    child.stdin.on("error", () => undefined); // the process has died; "close" is emitted afterwards
    child.once("exit", () => {
      this.#usable = false; // until "close", its second process may still be ending commands
    });
    this.#gone = new Promise((resolve) => child.once("close", (code) => resolve(this.#lose(code))));
    // Lets the runner exit while the launcher is idle.
    child.unref();
    socketOf(this.#requests).unref();
    socketOf(this.#replies).unref();
  }

  get usable(): boolean {
    return this.#usable;
  }

  launch(spec: LaunchSpec): Launched {
    const id = ++this.#idLast;
    const launchId = `${this.#name}.${id}`;
    const frame = launchFrame(id, launchId, spec);
    if (!frame) return neverStarted("EMSGSIZE", "command");
    const ended = new Promise<Ended>((resolve) => this.#running.set(id, resolve));
    if (this.#running.size === 1) socketOf(this.#replies).ref();
    if (spec.queued) this.#waiting.set(id, { queued: spec.queued, isStarted: false });
    this.#send(frame);
    return { ended, end: (graceMs) => this.#end(id, launchId, graceMs) };
  }

  setMarksFile(path: string): void {
    this.#send(marksFrame(path));
  }

  #started(id: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.isStarted = true;
    waiting.queued.onStarted();
  }

  recall(): void {
    for (const id of this.#waiting.keys()) this.#recall(id);
  }

  #recall(id: number): void {
    if (this.#waiting.has(id)) this.#send(headerFrame(KIND.cancel, id));
  }

  /** Closes the launcher's input, which makes it end all its descendants and then itself. */
  async close(): Promise<void> {
    this.#usable = false;
    this.#child.ref();
    socketOf(this.#replies).ref();
    this.#requests.end();
    await this.#gone;
  }

  /** Sends all requests of one turn of the event loop in one write. */
  #send(frame: Buffer): void {
    if (!this.#corked) {
      this.#corked = true;
      this.#requests.cork();
      process.nextTick(() => {
        this.#corked = false;
        this.#requests.uncork();
      });
    }
    this.#requests.write(frame);
  }

  async #end(id: number, launchId: string, graceMs: number): Promise<void> {
    const waiting = this.#waiting.get(id);
    this.#recall(id);
    const pid = this.#running.has(id) ? await this.#ask(id) : 0;
    if (waiting !== undefined && !waiting.isStarted) return; // it was recalled before it started
    await endTree(pid, graceMs, launchId);
  }

  #ask(id: number): Promise<number> {
    return new Promise((resolve) => {
      const earlier = this.#asking.get(id);
      this.#asking.set(id, (pid) => {
        earlier?.(pid);
        resolve(pid);
      });
      if (!earlier) this.#send(headerFrame(KIND.ask, id));
    });
  }

  #answer(id: number, pid: number): void {
    const resolve = this.#asking.get(id);
    this.#asking.delete(id);
    resolve?.(pid);
  }

  #finish(id: number, ended: Ended): void {
    const resolve = this.#running.get(id);
    this.#running.delete(id);
    this.#waiting.delete(id);
    if (this.#running.size === 0 && this.#usable) socketOf(this.#replies).unref();
    resolve?.(ended);
  }

  /**
   * Ends the commands of a dead launcher before reporting them, so that a retry does not run alongside the
   * first attempt.
   */
  async #lose(code: number | null): Promise<void> {
    this.#usable = false;
    const isUnclean = code !== 0 && this.#idLast > 0;
    if (isUnclean || this.#running.size > 0) await endTree(0, CLOSE_GRACE_MS, `${this.#name}.`);
    for (const id of [...this.#asking.keys()]) this.#answer(id, 0);
    for (const id of [...this.#running.keys()]) this.#finish(id, notStarted(LAUNCHER_LOST, "runner"));
  }
}

/** The pipes of a child are sockets in Node; only sockets have `ref` and `unref`. */
function socketOf(stream: Readable | Writable): Socket {
  return stream as Socket;
}

const KIND = { launch: 1, ask: 2, marks: 3, cancel: 4, ended: 1, asked: 2, started: 3 } as const;
const FLAG_QUEUE = 2;
const FLAG_KEEP_FILES = 4;
const LAUNCH_HEADER_BYTES = 22;
const QUEUE_BYTES = 36;
const ENDED_HEADER_BYTES = 55;
const INLINE_NONE = 0xffffffff;

export const FRAME_BYTES_MAX = 64 * 1024 * 1024;

/** Returns undefined when the request does not fit into a frame. */
export function launchFrame(id: number, launchId: string, spec: LaunchSpec): Buffer | undefined {
  let text = `${spec.cwd}\0${spec.stdoutPath}\0${spec.stderrPath}\0${spec.argv.join("\0")}\0`;
  let variables = 1;
  for (const name in spec.env) {
    text += `${name}=${spec.env[name]}\0`;
    variables += 1;
  }
  text += `${LAUNCH_ID_VARIABLE}=${launchId}\0`;
  const textBytes = Buffer.byteLength(text);
  const stdinBytes = typeof spec.stdin === "string" ? Buffer.byteLength(spec.stdin) : spec.stdin.byteLength;
  const { queued } = spec;
  const textAt = LAUNCH_HEADER_BYTES + (queued ? QUEUE_BYTES : 0);
  const size = textAt + textBytes + stdinBytes;
  if (size - 4 > FRAME_BYTES_MAX) return undefined;
  const frame = Buffer.allocUnsafe(size);
  writeHeader(frame, KIND.launch, id);
  frame[9] = (queued ? FLAG_QUEUE : 0) | (spec.keepFiles ? FLAG_KEEP_FILES : 0);
  frame.writeUInt32LE(spec.argv.length, 10);
  frame.writeUInt32LE(variables, 14);
  frame.writeUInt32LE(textBytes, 18);
  if (queued) writeQueued(frame, queued);
  frame.write(text, textAt);
  if (typeof spec.stdin === "string") frame.write(spec.stdin, textAt + textBytes);
  else frame.set(spec.stdin, textAt + textBytes);
  return frame;
}

function writeQueued(frame: Buffer, { limit, mark, ref, attempt, startWithinMs }: QueuedLaunch): void {
  let at = LAUNCH_HEADER_BYTES;
  at = frame.writeUInt32LE(limit, at);
  at = frame.writeUInt32LE(mark, at);
  at = frame.writeBigUInt64LE(BigInt(ref), at);
  at = frame.writeUInt32LE(attempt, at);
  at = frame.writeDoubleLE(Number(process.hrtime.bigint()) / 1e6 + startWithinMs, at);
  frame.writeDoubleLE(Date.now() + startWithinMs, at);
}

export function askFrame(id: number): Buffer {
  return headerFrame(KIND.ask, id);
}

function headerFrame(kind: number, id: number): Buffer {
  const frame = Buffer.allocUnsafe(9);
  writeHeader(frame, kind, id);
  return frame;
}

export function marksFrame(path: string): Buffer {
  const frame = Buffer.alloc(9 + Buffer.byteLength(path) + 1);
  writeHeader(frame, KIND.marks, 0);
  frame.write(path, 9);
  return frame;
}

function writeHeader(frame: Buffer, kind: number, id: number): void {
  frame.writeUInt32LE(frame.length - 4, 0);
  frame[4] = kind;
  frame.writeUInt32LE(id, 5);
}

interface ReplyHandler {
  ended(id: number, ended: Ended): void;
  /** `pid` is 0 when the command is not running. */
  asked(id: number, pid: number): void;
  started?(id: number): void;
}

/** Splits the launcher's output into replies. Inline output refers to the buffer of its chunk. */
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
      const frame = bytes.subarray(at, end);
      const id = frame.readUInt32LE(5);
      if (frame[4] === KIND.ended) this.#handler.ended(id, readEnded(frame));
      else if (frame[4] === KIND.started) this.#handler.started?.(id);
      else this.#handler.asked(id, frame.readUInt32LE(9));
      at = end;
    }
    this.#rest = at < bytes.length ? bytes.subarray(at) : undefined;
  }
}

const STAGES: readonly (StartStage | undefined)[] = [undefined, "command", "cwd", "runner"];

function readEnded(frame: Buffer): Ended {
  const stage = STAGES[frame[9] ?? 0];
  const exitCode = frame.readInt32LE(11);
  const signal = frame.readInt32LE(15);
  const errno = frame.readInt32LE(19);
  const stdoutInline = frame.readUInt32LE(47);
  const stderrAt = ENDED_HEADER_BYTES + (stdoutInline === INLINE_NONE ? 0 : stdoutInline);
  return {
    exitCode: exitCode < 0 ? null : exitCode,
    signal: signal === 0 ? null : (SIGNAL_NAMES.get(signal) ?? `SIG${signal}`),
    ...(stage && { startError: ERROR_NAMES.get(errno) ?? `E${errno}`, startStage: stage }),
    durationMs: frame.readDoubleLE(23),
    stdout: readCaptured(frame, frame.readDoubleLE(31), ENDED_HEADER_BYTES, stdoutInline),
    stderr: readCaptured(frame, frame.readDoubleLE(39), stderrAt, frame.readUInt32LE(51)),
    hasReports: frame[10] !== 0,
  };
}

function readCaptured(frame: Buffer, bytes: number, at: number, inlineBytes: number): Captured {
  if (bytes === 0 || inlineBytes === INLINE_NONE) return { bytes };
  return { bytes, inline: frame.subarray(at, at + inlineBytes) };
}

const SIGNAL_NAMES = namesByNumber(constants.signals);
const ERROR_NAMES = namesByNumber(constants.errno);

/** If two names have the same number (EAGAIN and EWOULDBLOCK), the first is the usual one. */
function namesByNumber(numbers: object): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  for (const [name, value] of Object.entries(numbers)) if (!names.has(value)) names.set(value, name);
  return names;
}
