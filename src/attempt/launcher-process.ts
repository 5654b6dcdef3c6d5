/** One life of the launcher process, from its start to its end, and the launches that it serves meanwhile. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { randomName } from "../kit/random.ts";
import {
  CLOSE_GRACE_MS,
  type Ended,
  LAUNCHER_LOST,
  type Launched,
  type LaunchSpec,
  notStarted,
} from "./launch.ts";
import { askFrame, launchFrame, ReplyReader } from "./launcher-frames.ts";
import { endTree } from "./process-tree.ts";

export class LauncherProcess {
  readonly #name = randomName(16);
  readonly #running = new Map<number, (ended: Ended) => void>();
  readonly #asking = new Map<number, (pid: number) => void>();
  readonly #child: ChildProcess;
  readonly #requests: Writable;
  readonly #replies: Readable;
  readonly #gone: Promise<void>;
  #idLast = 0;
  #corked = false;
  #usable = true;

  /** Detached, in a session of its own: a signal to the runner's whole group must not take the reaper with it. */
  constructor(binary: string) {
    const child = spawn(binary, [], { stdio: ["pipe", "pipe", "inherit"], detached: true });
    child.on("error", () => undefined); // "close" tells
    requirePipes(child);
    this.#child = child;
    this.#requests = child.stdin;
    this.#replies = child.stdout;
    const reader = new ReplyReader({
      ended: (id, ended) => this.#finish(id, ended),
      asked: (id, pid) => this.#answer(id, pid),
    });
    child.stdout.on("data", (chunk: Buffer) => reader.push(chunk));
    child.stdin.on("error", () => undefined); // it died; "close" tells
    this.#gone = new Promise((resolve) => child.once("close", (code) => resolve(this.#lose(code))));
    this.#letRunnerExit();
  }

  /** False when it has died or is closing. */
  get usable(): boolean {
    return this.#usable;
  }

  launch(spec: LaunchSpec): Launched {
    const id = ++this.#idLast;
    const launchId = `${this.#name}.${id}`;
    const frame = launchFrame(id, launchId, spec);
    if (!frame)
      return { ended: Promise.resolve(notStarted("EMSGSIZE", "command")), end: async () => undefined };
    const ended = new Promise<Ended>((resolve) => this.#running.set(id, resolve));
    if (this.#running.size === 1) socketOf(this.#replies).ref();
    this.#send(frame);
    return { ended, end: (graceMs) => this.#end(id, launchId, graceMs) };
  }

  /** The end of its input makes the launcher end everything that descends from it, and then itself. */
  async close(): Promise<void> {
    this.#usable = false;
    this.#child.ref();
    socketOf(this.#replies).ref();
    this.#requests.end();
    await this.#gone;
  }

  /** Requests of one turn of the event loop leave in one write. */
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
    const pid = this.#running.has(id) ? await this.#ask(id) : 0;
    await endTree(pid, graceMs, launchId);
  }

  #ask(id: number): Promise<number> {
    return new Promise((resolve) => {
      const earlier = this.#asking.get(id);
      this.#asking.set(id, (pid) => {
        earlier?.(pid);
        resolve(pid);
      });
      if (!earlier) this.#send(askFrame(id));
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
    if (this.#running.size === 0 && this.#usable) socketOf(this.#replies).unref();
    resolve?.(ended);
  }

  /**
   * Its commands lost their reaper: they are ended before anyone is told, lest a retry runs beside the first try, and
   * so is what earlier ones left behind. A launcher that ended well (0) has done that itself.
   */
  async #lose(code: number | null): Promise<void> {
    this.#usable = false;
    const isUnclean = code !== 0 && this.#idLast > 0;
    if (isUnclean || this.#running.size > 0) await endTree(0, CLOSE_GRACE_MS, `${this.#name}.`);
    for (const id of [...this.#asking.keys()]) this.#answer(id, 0);
    for (const id of [...this.#running.keys()]) this.#finish(id, notStarted(LAUNCHER_LOST, "runner"));
  }

  /** An idle launcher keeps no runner alive. */
  #letRunnerExit(): void {
    this.#child.unref();
    socketOf(this.#requests).unref();
    socketOf(this.#replies).unref();
  }
}

/** When this process may open no more files, Node answers with a child that has no pipes. */
function requirePipes(child: { readonly stdin?: unknown; readonly stdout?: unknown }): void {
  if (!child.stdin || !child.stdout) throw new Error("no pipes could be made for the launcher");
}

/** Node makes sockets of a child's pipes; only they can be taken out of the count that keeps a process alive. */
function socketOf(stream: Readable | Writable): Socket {
  return stream as Socket;
}
