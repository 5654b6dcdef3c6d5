/**
 * Ends a command with everything that it started: its process group, all that descends from it, and all that
 * carries its launch id, so that a daemon which left its session and its parents is found too. Nothing is ever
 * found by name.
 */
import { systemClock } from "../kit/clock.ts";
import { listProcesses, type ProcessEntry } from "./process-list.ts";

/** A process that does not go after KILL is stuck in the kernel; nobody is helped by waiting on. */
const GIVE_UP_MS = 10_000;
const POLL_MS = 10;
const POLL_SLOW_MS = 50;
const POLLS_FAST = 10;

/**
 * TERM, then KILL after `graceMs`; resolves when nothing is left. `pid` leads the group; 0 when it is known to have
 * ended, since its number may belong to a stranger by now, and then only `launchId` finds what it left behind.
 */
export async function endTree(pid: number, graceMs: number, launchId?: string): Promise<void> {
  const tree = new Tree(pid, launchId);
  if (await signalUntilGone(tree, "SIGTERM", graceMs)) return;
  await signalUntilGone(tree, "SIGKILL", GIVE_UP_MS);
}

/**
 * Signals each process once, also those that appear meanwhile; but what a process starts after TERM is its tidying up,
 * which a second TERM would break off. False when some are left after `limitMs`.
 */
async function signalUntilGone(tree: Tree, signal: "SIGTERM" | "SIGKILL", limitMs: number): Promise<boolean> {
  const began = systemClock.now();
  const seen = new Set<string>();
  for (let polls = 0; ; polls++) {
    const members = tree.members();
    if (members.length === 0) return true;
    const heeding = members.filter((member) => seen.has(member.key));
    const spared = new Set(signal === "SIGTERM" ? withDescendants(heeding, members) : heeding);
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

/** The group at once, so that it has no time to fork around the signal; then whoever is not in it. */
function signalAll(members: readonly ProcessEntry[], group: number, signal: "SIGTERM" | "SIGKILL"): void {
  const targets = new Set(members.map((member) => (member.group === group ? -group : member.pid)));
  for (const target of targets) send(target, signal);
  if (signal === "SIGTERM") for (const target of targets) send(target, "SIGCONT"); // or a stopped one cannot heed it
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // It has ended meanwhile, or it is not ours to signal; the next look tells.
  }
}

/** The processes of one launch, looked up anew each time; one that was seen once stays a member until it ends. */
class Tree {
  #pid: number;
  readonly #launchId: string | undefined;
  readonly #known = new Map<string, boolean>();

  constructor(pid: number, launchId: string | undefined) {
    this.#pid = pid > 1 ? pid : 0;
    this.#launchId = launchId;
  }

  /** The leader of the group; 0 when the group has ended, for its number may be a stranger's from then on. */
  get pid(): number {
    return this.#pid;
  }

  members(): ProcessEntry[] {
    const others = listProcesses().filter((entry) => entry.pid > 1 && entry.pid !== process.pid);
    if (!others.some((entry) => this.#isInGroup(entry))) this.#pid = 0;
    const members = withDescendants(
      others.filter((entry) => this.#isOurs(entry)),
      others,
    );
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
  return [...found]; // a set also visits what is added to it on the way
}
