/**
 * Merges the work of items in batches, and moves the job's branch only to commits that pass the steps of
 * `verify`. A batch that fails is bisected: the item that causes the failure is rejected, and the others are
 * merged without it.
 */
import type { Failure } from "../item/failure.ts";
import type { Branch } from "./branch.ts";
import { branchGone } from "./branch.ts";
import type { Built, Merged, MergeQueue, MergeRequest } from "./merge-queue.ts";

/** A commit to run the steps of `verify` on. */
export interface Check {
  readonly commit: string;
  /** The tip of the job's branch, on which the items' work is based. */
  readonly base: string;
  /** The items whose work the commit adds to the branch. Empty for the branch itself. */
  readonly itemIds: readonly string[];
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal;
  /** False if the leases of the items may have expired. */
  readonly mayStart: () => boolean;
}

interface Broken {
  readonly failure: Failure;
  /** The log of the run. */
  readonly output?: Buffer;
}

export type CheckEnd =
  | { readonly kind: "passed" }
  | ({ readonly kind: "failed" } & Broken)
  /** The steps could not finish, through no fault of an item. */
  | { readonly kind: "stopped"; readonly why?: string };

export interface VerifyOptions {
  readonly check: (check: Check) => Promise<CheckEnd>;
  /** How many items must be waiting before a run starts, while `othersRun` is true. */
  readonly batch: number;
  /** Whether items are still being processed that may join the next batch. */
  readonly othersRun: () => boolean;
  /** The tip of the branch, if it is known to pass the steps. */
  readonly verified?: string | undefined;
  /** Called when a batch of several items has failed. */
  readonly onSearch: (items: number) => void;
  /** Called if the steps fail on the branch itself, so that no item can pass. */
  readonly onBrokenBase: (failure: Failure) => void;
  /** Called if the steps failed once but passed when repeated on the same commit. */
  readonly onFlaky: (commit: string) => void;
}

/** Limits how long one merge waits. */
export interface MergeWait {
  readonly signal: AbortSignal;
  readonly mayStart: () => boolean;
}

export type Verified =
  | Merged
  /** The steps fail with the work of the item, and pass without it. */
  | ({ readonly kind: "rejected"; readonly passedWith: readonly string[] } & Broken)
  /** The work is neither merged nor rejected. */
  | { readonly kind: "stopped"; readonly why?: string };

/** The maximum size of a batch. Each doubling adds one run to the search for the failing item. */
const BATCH_MAX = 64;

interface Entry extends MergeWait {
  readonly request: MergeRequest;
  readonly end: (end: Verified) => void;
  readonly fail: (error: unknown) => void;
  isEnded: boolean;
}

interface Link extends Built {
  /** The previous commit in the chain. */
  readonly base: string;
  readonly entry: Entry;
}

/** Thrown inside a search if a run was stopped. */
class Stopped extends Error {
  readonly why: string | undefined;

  constructor(why?: string) {
    super(why);
    this.why = why;
  }
}

export class VerifyQueue {
  readonly #merges: MergeQueue;
  readonly #branch: Branch;
  readonly #options: VerifyOptions;
  #waiting: Entry[] = [];
  #isRunning = false;
  /** Set while items of an earlier batch remain, which do not wait for more. */
  #isUrgent = false;
  /** Ends the current run. */
  #interrupt = new AbortController();
  /** The tip of the branch on which the steps have passed. */
  #verified: string | undefined;

  constructor(merges: MergeQueue, branch: Branch, options: VerifyOptions) {
    this.#merges = merges;
    this.#branch = branch;
    this.#options = options;
    this.#verified = options.verified;
  }

  /** Resolves when the work is on the branch, or when it is certain that it will not be merged. */
  merge(request: MergeRequest, { signal, mayStart }: MergeWait): Promise<Verified> {
    if (signal.aborted) return Promise.resolve({ kind: "stopped" });
    return new Promise((resolve, reject) => {
      const close = <T>(settle: (value: T) => void) => {
        return (value: T) => {
          entry.isEnded = true;
          signal.removeEventListener("abort", onAbort);
          settle(value);
        };
      };
      const onAbort = () => this.#withdraw(entry);
      const entry: Entry = {
        ...{ request, signal, mayStart, isEnded: false },
        end: close(resolve),
        fail: close(reject),
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(entry);
      this.startIfDue();
    });
  }

  /** Must be called when an item ends elsewhere, because a batch may be waiting for it. */
  startIfDue(): void {
    if (this.#isRunning || !this.#isDue()) return;
    this.#isRunning = true;
    void this.#run();
  }

  #isDue(): boolean {
    const { batch, othersRun } = this.#options;
    const { length } = this.#waiting;
    return length > 0 && (this.#isUrgent || length >= batch || !othersRun());
  }

  #withdraw(entry: Entry): void {
    const isWaiting = this.#waiting.includes(entry);
    this.#waiting = this.#waiting.filter((one) => one !== entry);
    if (isWaiting) entry.end({ kind: "stopped" });
    else this.#interrupt.abort(); // the rest of its batch is verified again without it
  }

  async #run(): Promise<void> {
    while (this.#isDue()) {
      const batchMax = Math.max(BATCH_MAX, this.#options.batch);
      const batch = this.#waiting.slice(0, batchMax);
      this.#waiting = this.#waiting.slice(batchMax);
      this.#interrupt = new AbortController();
      try {
        await this.#verify(batch);
      } catch (error) {
        if (!(error instanceof Stopped)) for (const one of open(batch)) one.fail(error);
        // Interrupting a run stops only the items that requested it.
        else if (!this.#interrupt.signal.aborted) endAll(batch, error.why);
      }
      endAll(batch.filter(({ signal }) => signal.aborted));
      const left = open(batch);
      this.#isUrgent = left.length > 0;
      this.#waiting = [...left, ...this.#waiting];
    }
    this.#isRunning = false;
  }

  /**
   * Merges or rejects at least one item of the batch, unless the branch has moved. The remaining items are
   * verified again.
   */
  async #verify(batch: readonly Entry[]): Promise<void> {
    const tip = await this.#tip();
    const chain = await this.#build(tip, open(batch));
    if (chain.length === 0) return;
    const land = this.#landing(tip, chain);
    const check = (count: number) => this.#check(tip, chain, count);
    const first = await check(chain.length);
    if (first.kind === "passed") return void (await land(chain.length));
    if (chain.length > 1) this.#options.onSearch(chain.length);
    let [passed, failed, failures, broken] = [0, chain.length, 1, first];
    while (failed - passed > 1) {
      const middle = Math.floor((passed + failed) / 2);
      const end = await check(middle);
      if (end.kind === "failed") [failed, broken, failures] = [middle, end, failures + 1];
      else {
        passed = middle;
        if (!(await land(passed))) return; // another process has moved the branch
      }
    }
    // A single failure may be random, so an item is rejected only after two runs with its work have failed.
    if (failures === 1) {
      const again = await check(failed);
      if (again.kind === "passed") {
        this.#options.onFlaky(chain[failed - 1]?.commit ?? tip);
        return void (await land(failed));
      }
      broken = again;
    }
    if (passed === 0 && this.#verified !== tip) {
      const base = await check(0);
      if (base.kind === "failed") return this.#stopAll(base.failure, batch);
      this.#verified = tip;
    }
    const passedWith = chain.slice(0, passed).map(({ entry }) => entry.request.itemId);
    chain[failed - 1]?.entry.end({ ...broken, kind: "rejected", passedWith });
  }

  #stopAll(failure: Failure, batch: readonly Entry[]): void {
    this.#options.onBrokenBase(failure);
    const why = `verify fails without the item: ${failure.errorMessage}`;
    endAll(batch, why);
    endAll(this.#waiting.splice(0), why);
  }

  /**
   * Builds a chain of merge commits. An item that conflicts with the branch ends; one that conflicts only
   * with unverified items waits for them.
   */
  async #build(tip: string, batch: readonly Entry[]): Promise<Link[]> {
    const chain: Link[] = [];
    for (const entry of batch) {
      const { request } = entry;
      const onto = chain.at(-1)?.commit ?? tip;
      try {
        const isDone = await this.#merges.isDone(tip, request);
        const built = isDone
          ? ({ kind: "empty" } as const)
          : await this.#merges.build(onto, request, chain.at(-1)?.tree);
        if (built.kind === "built") chain.push({ ...built, base: onto, entry });
        else if (onto === tip || isDone) entry.end(built);
      } catch (error) {
        entry.fail(error); // for example unrelated histories, which affect only this item
      }
    }
    return chain;
  }

  async #check(tip: string, chain: readonly Link[], count: number) {
    const links = chain.slice(0, count);
    const end = await this.#options.check({
      commit: links.at(-1)?.commit ?? tip,
      base: tip,
      itemIds: links.map(({ entry }) => entry.request.itemId),
      signal: this.#interrupt.signal,
      mayStart: () => chain.every(({ entry }) => entry.mayStart()),
    });
    if (end.kind === "stopped") throw new Stopped(end.why);
    if (this.#interrupt.signal.aborted) throw new Stopped();
    return end;
  }

  /** Returns a function that moves the branch to the first `count` commits of the chain. */
  #landing(tip: string, chain: readonly Link[]): (count: number) => Promise<boolean> {
    let [landed, at] = [0, tip];
    return async (count) => {
      const links = chain.slice(landed, count);
      const last = links.at(-1);
      if (last === undefined) return true;
      const names = links.map(({ entry }) => entry.request.itemId).join(", ");
      if (!(await this.#branch.move(at, last.commit, `merge ${names.slice(0, REASON_CHARS_MAX)}`)))
        return false;
      for (const { entry, commit, base } of links) entry.end({ kind: "merged", commit, base });
      [landed, at, this.#verified] = [count, last.commit, last.commit];
      return true;
    };
  }

  async #tip(): Promise<string> {
    const tip = await this.#branch.read();
    if (tip === null) throw branchGone(this.#branch.name);
    return tip;
  }
}

const REASON_CHARS_MAX = 200;

function open(entries: readonly Entry[]): Entry[] {
  return entries.filter(({ isEnded }) => !isEnded);
}

function endAll(entries: readonly Entry[], why?: string): void {
  for (const one of open(entries)) one.end({ kind: "stopped", ...(why !== undefined && { why }) });
}
