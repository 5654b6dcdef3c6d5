/** Ends a command with all processes that it started: its group, its descendants, and all with its launch id. */
import { createHash } from "node:crypto";
import { systemClock } from "../std/clock.ts";
import { processStart, thisHost } from "../std/process-identity.ts";
import { randomName } from "../std/random.ts";
import { tryTo } from "../std/try-to.ts";
import { CLOSE_GRACE_MS, LAUNCH_ID_VARIABLE } from "./launch.ts";
import { listProcesses, type ProcessEntry } from "./process-list.ts";

/** A process that survives KILL this long is stuck in the kernel. */
const GIVE_UP_MS = 10_000;
const POLL_MS = 10;
const POLL_SLOW_MS = 50;
const POLLS_FAST = 10;

/** Sends TERM, then KILL after `graceMs`. `pid` is 0 if the process has ended, because its number may be reused. */
export async function endTree(pid: number, graceMs: number, launchId?: string): Promise<void> {
  const tree = new Tree(pid, launchId);
  if (await signalUntilGone(tree, "SIGTERM", graceMs)) return;
  await signalUntilGone(tree, "SIGKILL", GIVE_UP_MS);
}

/** Signals each process once. After TERM, new descendants of signalled processes are spared: they may be cleaning up. */
async function signalUntilGone(tree: Tree, signal: "SIGTERM" | "SIGKILL", limitMs: number): Promise<boolean> {
  const began = systemClock.now();
  const seen = new Set<string>();
  for (let polls = 0; ; polls++) {
    const members = tree.members();
    if (members.length === 0) return true;
    const signalled = members.filter((member) => seen.has(member.key));
    const spared = new Set(signal === "SIGTERM" ? withDescendants(signalled, members) : signalled);
    signalAll(
      members.filter((member) => !spared.has(member)),
      tree.pid,
      signal,
    );
    for (const member of members) seen.add(member.key);
    const leftMs = limitMs - (systemClock.now() - began);
    if (leftMs <= 0) return false;
    await systemClock.sleep(Math.min(leftMs, polls < POLLS_FAST ? POLL_MS : POLL_SLOW_MS));
  }
}

/** Signals the group as a whole, so that no fork escapes the signal, then the other processes. */
function signalAll(members: readonly ProcessEntry[], group: number, signal: "SIGTERM" | "SIGKILL"): void {
  const targets = new Set(members.map((member) => (member.group === group ? -group : member.pid)));
  // Errors are ignored: the process has ended or belongs to another user, and the next poll lists it if it still runs.
  for (const target of targets) tryTo(() => process.kill(target, signal));
  if (signal === "SIGTERM") for (const target of targets) tryTo(() => process.kill(target, "SIGCONT")); // a stopped process cannot react to TERM
}

/** The processes of one launch, listed again for each poll. A known member stays one until it ends. */
class Tree {
  #pid: number;
  readonly #launchId: string | undefined;
  readonly #known = new Map<string, boolean>();

  constructor(pid: number, launchId: string | undefined) {
    this.#pid = pid > 1 ? pid : 0;
    this.#launchId = launchId;
  }

  /** The leader of the group; 0 when the group has ended, because its number may be reused. */
  get pid(): number {
    return this.#pid;
  }

  members(): ProcessEntry[] {
    const others = listProcesses().filter((entry) => entry.pid > 1 && entry.pid !== process.pid);
    if (!others.some((entry) => this.#isInGroup(entry))) this.#pid = 0;
    const ours = others.filter((entry) => this.#isOurs(entry));
    const members = withDescendants(ours, others);
    for (const entry of members) this.#known.set(entry.key, true);
    return members;
  }

  #isInGroup(entry: ProcessEntry): boolean {
    return this.#pid > 0 && (entry.pid === this.#pid || entry.group === this.#pid);
  }

  #isOurs(entry: ProcessEntry): boolean {
    if (this.#isInGroup(entry)) return true;
    const known = this.#known.get(entry.key);
    if (known !== undefined) return known;
    const ours = this.#launchId !== undefined && entry.hasLaunchId(this.#launchId);
    this.#known.set(entry.key, ours);
    return ours;
  }
}

function withDescendants(roots: readonly ProcessEntry[], all: readonly ProcessEntry[]): ProcessEntry[] {
  const found = new Set(roots);
  for (const member of found) for (const entry of all) if (entry.parent === member.pid) found.add(entry);
  return [...found]; // iterating a set includes entries that are added meanwhile
}

/** The prefix of the ids of all launches of one launcher in this process: `machine-pid-start.random`. */
export function newLauncherName(): string {
  return `${runnerName()}.${randomName(16)}`;
}

/**
 * Ends all processes on this machine whose runner was killed together with its launcher, regardless of its
 * store.
 */
export async function endOrphans(): Promise<void> {
  const ids = new Set(listProcesses().flatMap((entry) => entry.launchIds()));
  const runners = new Set(Array.from(ids, runnerOf).filter(isDeadRunner));
  // This process may itself be a command of a killed runner; it must not end itself.
  runners.delete(runnerOf(process.env[LAUNCH_ID_VARIABLE] ?? ""));
  await Promise.all(Array.from(runners, (runner) => endTree(0, CLOSE_GRACE_MS, `${runner}.`)));
}

let ownName: string | undefined;

function runnerName(): string {
  ownName ??= nameOf(process.pid, processStart(process.pid) ?? "");
  return ownName;
}

function nameOf(pid: number, start: string): string {
  return `${shortHash(thisHost())}-${pid}-${shortHash(start)}`;
}

/** Hashes the text, because a start time may contain blanks, which would end a variable in the output of `ps`. */
function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

function runnerOf(launchId: string): string {
  return launchId.split(".", 1)[0] ?? "";
}

/** False for names from another machine, boot or process namespace, whose state is unknown. */
function isDeadRunner(name: string): boolean {
  const match = /^([0-9a-f]{12})-(\d+)-[0-9a-f]{12}$/.exec(name);
  if (match?.[1] !== shortHash(thisHost())) return false;
  const pid = Number(match[2]);
  const start = processStart(pid);
  return start === null || nameOf(pid, start) !== name;
}
