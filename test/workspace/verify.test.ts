/** The verify queue: the job's branch moves only to commits that pass, and the item that breaks them is found and left out. */
import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Failure } from "../../src/item/failure.ts";
import { Branch } from "../../src/workspace/branch.ts";
import { identityEnvironment } from "../../src/workspace/git.ts";
import { MergeQueue } from "../../src/workspace/merge-queue.ts";
import { openRepository } from "../../src/workspace/repository.ts";
import {
  type Check,
  type CheckEnd,
  type Verified,
  type VerifyOptions,
  VerifyQueue,
} from "../../src/workspace/verify-queue.ts";
import { until } from "../support/until.ts";
import { git, Workshop } from "./repo-kit.ts";

let workshop: Workshop;
beforeEach(() => {
  workshop = new Workshop();
});
afterEach(() => workshop.remove());

const FAILURE: Failure = {
  attemptNumber: 1,
  timestamp: 0,
  errorType: { name: "CommandFailed" },
  errorClass: "unknown",
  errorMessage: "the build is broken",
  agentId: "verify",
  stepFailed: "build",
  durationMs: 1,
};

/** A commit on top of main for each item, which writes one file. */
function commitEach(items: Readonly<Record<string, readonly [path: string, text: string]>>) {
  const main = git(workshop.top, "rev-parse", "main");
  const stream = Object.entries(items).map(([id, [path, text]]) =>
    [
      `commit refs/heads/work/${id}`,
      "committer Tess Ter <tess@example.org> 1700000000 +0000",
      `data ${id.length}\n${id}`,
      `from ${main}`,
      `M 644 inline ${path}\ndata ${text.length}\n${text}\n`,
    ].join("\n"),
  );
  execFileSync("git", ["fast-import", "--quiet"], { cwd: workshop.top, input: `${stream.join("\n")}\n` });
  const refs = git(
    workshop.top,
    "for-each-ref",
    "--format=%(refname:lstrip=3) %(objectname)",
    "refs/heads/work",
  );
  const commits = new Map(refs.split("\n").map((line) => line.split(" ") as [string, string]));
  return { main, heads: new Map(Object.keys(items).map((id) => [id, commits.get(id) ?? ""])) };
}

/** The files of a commit. */
const filesOf = (commit: string) => git(workshop.top, "ls-tree", "-r", "--name-only", commit).split("\n");
const fileOf = (commit: string, path: string) => git(workshop.top, "cat-file", "-p", `${commit}:${path}`);

class Bench {
  readonly runs: Check[] = [];
  readonly broken: string[] = [];
  flaky = 0;
  readonly #abort = new Map<string, AbortController>();

  readonly queue: VerifyQueue;
  readonly heads: ReadonlyMap<string, string>;
  readonly main: string;
  readonly branch: Branch;

  private constructor(parts: Pick<Bench, "queue" | "heads" | "main" | "branch">) {
    this.queue = parts.queue;
    this.heads = parts.heads;
    this.main = parts.main;
    this.branch = parts.branch;
  }

  /** `passes` judges a commit by its files, as a build would. */
  static async open(
    items: Parameters<typeof commitEach>[0],
    passes: (files: readonly string[], check: Check) => boolean | Promise<boolean> | CheckEnd,
    options: Partial<VerifyOptions> = {},
  ): Promise<Bench> {
    const { main, heads } = commitEach(items);
    const { git: inside, commonDir } = await openRepository(workshop.top);
    const branch = new Branch(inside, "redrive/job-1", commonDir);
    await branch.create(main);
    const merges = new MergeQueue(inside, branch, await identityEnvironment(inside));
    let bench: Bench | undefined;
    const queue = new VerifyQueue(merges, branch, {
      batch: heads.size,
      verified: main,
      othersRun: () => true,
      onSearch: () => undefined,
      onBrokenBase: ({ errorMessage }) => bench?.broken.push(errorMessage),
      onFlaky: () => {
        if (bench) bench.flaky += 1;
      },
      check: async (check) => {
        bench?.runs.push(check);
        const end = await passes(filesOf(check.commit), check);
        if (typeof end !== "boolean") return end;
        return end ? { kind: "passed" } : { kind: "failed", failure: FAILURE };
      },
      ...options,
    });
    bench = new Bench({ queue, heads, main, branch });
    return bench;
  }

  merge(itemId: string, head = this.heads.get(itemId) ?? ""): Promise<Verified> {
    const abort = new AbortController();
    this.#abort.set(itemId, abort);
    const request = { head, base: this.main, itemId, attempt: 1, jobId: "job-1", message: itemId };
    return this.queue.merge(request, { signal: abort.signal, mayStart: () => true });
  }

  stop(itemId: string): void {
    this.#abort.get(itemId)?.abort();
  }

  async mergeAll(): Promise<Record<string, Verified["kind"]>> {
    const ends = await Promise.all(
      [...this.heads.keys()].map(async (id) => [id, (await this.merge(id)).kind]),
    );
    return Object.fromEntries(ends);
  }

  get tip(): string {
    return git(workshop.top, "rev-parse", "redrive/job-1");
  }
}

const many = (count: number, change: (index: number) => readonly [string, string] | undefined) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `i${index}`,
      change(index) ?? ([`out/${index}`, `${index}\n`] as const),
    ]),
  );
const noneBroken = (files: readonly string[]) => !files.some((file) => file.startsWith("broken"));

describe("the verify queue", () => {
  it.each([0, 40, 63])(
    "finds item %i among 64 with at most 8 runs, and merges the others",
    async (culprit) => {
      const bench = await Bench.open(
        many(64, (at) => (at === culprit ? ["broken", "x"] : undefined)),
        noneBroken,
      );
      const ends = await bench.mergeAll();
      expect(Object.entries(ends).filter(([, kind]) => kind !== "merged")).toEqual([
        [`i${culprit}`, "rejected"],
      ]);
      expect(bench.runs.length).toBeLessThanOrEqual(8);
      expect(filesOf(bench.tip).filter((file) => file.startsWith("out/"))).toHaveLength(63);
      expect(filesOf(bench.tip)).not.toContain("broken");
    },
  );

  it("merges a batch that passes with one run, and names the items and the base", async () => {
    const bench = await Bench.open(
      many(5, () => undefined),
      noneBroken,
    );
    await bench.mergeAll();
    expect(bench.runs).toHaveLength(1);
    expect(bench.runs[0]).toMatchObject({ base: bench.main, commit: bench.tip });
    expect(bench.runs[0]?.itemIds).toEqual(["i0", "i1", "i2", "i3", "i4"]);
  });

  it("finds several items that break the state, each with its failure", async () => {
    const bench = await Bench.open(
      many(16, (at) => ([3, 4, 15].includes(at) ? [`broken-${at}`, "x"] : undefined)),
      noneBroken,
    );
    const ends = await bench.mergeAll();
    expect(Object.keys(ends).filter((id) => ends[id] === "rejected")).toEqual(["i3", "i4", "i15"]);
    expect(filesOf(bench.tip).filter((file) => file.startsWith("out/"))).toHaveLength(13);
  });

  it("rejects the later of two items that break the state only together", async () => {
    const bench = await Bench.open(
      many(8, () => undefined),
      (files) => !(files.includes("out/2") && files.includes("out/5")),
    );
    const ends = await bench.mergeAll();
    expect(Object.keys(ends).filter((id) => ends[id] === "rejected")).toEqual(["i5"]);
    expect(filesOf(bench.tip)).toContain("out/2");
  });

  it("tells with which items the state passed before", async () => {
    const bench = await Bench.open(
      many(8, (at) => (at === 5 ? ["broken", "x"] : undefined)),
      noneBroken,
    );
    const ends = await Promise.all([...bench.heads.keys()].map((id) => bench.merge(id)));
    expect(ends[5]).toMatchObject({
      kind: "rejected",
      failure: FAILURE,
      passedWith: ["i0", "i1", "i2", "i3", "i4"],
    });
  });

  it("rejects nothing if the state passes when it is run again", async () => {
    let left = 1;
    const bench = await Bench.open(
      many(8, () => undefined),
      () => left-- <= 0,
    );
    expect(new Set(Object.values(await bench.mergeAll()))).toEqual(new Set(["merged"]));
    expect(bench.flaky).toBe(1);
  });

  it("rejects nothing if the branch itself fails", async () => {
    const bench = await Bench.open(
      many(4, () => undefined),
      () => false,
      { verified: undefined },
    );
    expect(new Set(Object.values(await bench.mergeAll()))).toEqual(new Set(["stopped"]));
    expect(bench.broken).toEqual(["the build is broken"]);
    expect(bench.runs.at(-1)?.itemIds).toEqual([]);
    expect(bench.tip).toBe(bench.main);
  });

  it("stops all items of a run that could not be made", async () => {
    const bench = await Bench.open(
      many(4, () => undefined),
      () => ({ kind: "stopped", why: "the disk is full" }),
    );
    const ends = await Promise.all([...bench.heads.keys()].map((id) => bench.merge(id)));
    expect(ends).toEqual(Array(4).fill({ kind: "stopped", why: "the disk is full" }));
    expect(bench.tip).toBe(bench.main);
  });

  it("reports a conflict with the branch only after the items before it are verified", async () => {
    const bench = await Bench.open(
      { first: ["a.txt", "one\n"], second: ["a.txt", "two\n"], third: ["c", "3\n"] },
      noneBroken,
    );
    expect(await bench.mergeAll()).toEqual({ first: "merged", second: "conflict", third: "merged" });
    expect(fileOf(bench.tip, "a.txt")).toBe("one");
  });

  it("merges an item that conflicts only with one that is rejected", async () => {
    const bench = await Bench.open(
      { first: ["a.txt", "broken\n"], second: ["a.txt", "two\n"] },
      (_, { commit }) => fileOf(commit, "a.txt") !== "broken",
    );
    expect(await bench.mergeAll()).toEqual({ first: "rejected", second: "merged" });
    expect(fileOf(bench.tip, "a.txt")).toBe("two");
  });

  it("verifies again if another process has moved the branch meanwhile", async () => {
    let isMoved = false;
    const bench = await Bench.open(
      { one: ["one", "1\n"], other: ["other", "2\n"] },
      async () => {
        if (!isMoved) await bench.branch.move(bench.main, bench.heads.get("other") ?? "");
        isMoved = true;
        return true;
      },
      { batch: 1 },
    );
    expect(await bench.merge("one")).toMatchObject({ kind: "merged", commit: bench.tip });
    expect(bench.runs.map(({ base }) => base)).toEqual([bench.main, bench.heads.get("other")]);
    expect(filesOf(bench.tip)).toEqual(expect.arrayContaining(["one", "other"]));
  });

  it("leaves out an item that is stopped while it is verified", async () => {
    const bench = await Bench.open({ one: ["one", "1\n"], two: ["two", "2\n"] }, (_, { itemIds, signal }) => {
      if (itemIds.length === 1) return true;
      return new Promise<boolean>((resolve) => signal.addEventListener("abort", () => resolve(true)));
    });
    const [one, two] = [bench.merge("one"), bench.merge("two")];
    await until("the first run begins", () => bench.runs.length === 1);
    bench.stop("two");
    expect(await two).toEqual({ kind: "stopped" });
    // The rest of the batch waits for more; with fewer left, nothing else can join it.
    expect(await one).toMatchObject({ kind: "merged" });
    expect(filesOf(bench.tip)).not.toContain("two");
  });

  it("waits for a full batch while other items run, and not when none does", async () => {
    let othersRun = true;
    const bench = await Bench.open(
      many(3, () => undefined),
      noneBroken,
      {
        batch: 3,
        othersRun: () => othersRun,
      },
    );
    const first = [bench.merge("i0"), bench.merge("i1")];
    await new Promise((resolve) => setImmediate(resolve));
    expect(bench.runs).toEqual([]);
    othersRun = false;
    bench.queue.startIfDue();
    await Promise.all(first);
    expect(bench.runs.map(({ itemIds }) => itemIds)).toEqual([["i0", "i1"]]);
  });

  it("merges an item once, whatever another runner has merged", async () => {
    const bench = await Bench.open({ one: ["one", "1\n"], two: ["two", "2\n"] }, noneBroken, { batch: 1 });
    await bench.merge("one");
    const again = git(
      workshop.top,
      "commit-tree",
      "-p",
      bench.main,
      "-m",
      "again",
      `${bench.heads.get("two")}^{tree}`,
    );
    expect(await bench.merge("one", again)).toEqual({ kind: "empty" });
    expect(filesOf(bench.tip)).not.toContain("two");
  });
});
