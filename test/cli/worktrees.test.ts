/** `redrive worktrees`: its output for people and scripts, and how the store decides which worktrees are needed. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands/worktrees.ts";
import { Context } from "../../src/cli/context.ts";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import type { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import { buried, succeeded } from "../support/settlements.ts";
import { commit, git, put, Workshop } from "../workspace/repo-kit.ts";

let workshop: Workshop;
let job: JobWorktrees;
let engine: Engine;
beforeEach(async () => {
  workshop = new Workshop();
  job = await workshop.open();
  engine = await openStore(`sqlite:${join(workshop.home, "redrive.db")}`);
  await engine.createJob({ id: "job-1", name: "nightly", kind: "map", spec: {} });
});
afterEach(async () => {
  await engine.close();
  workshop.remove();
});

interface Answer {
  readonly worktrees?: readonly {
    readonly path: string;
    readonly state: string;
    readonly item_id: string | null;
  }[];
  readonly removed?: readonly { readonly path: string }[];
  readonly left?: readonly { readonly path: string; readonly left_because: string }[];
  readonly branches_removed?: readonly string[];
  readonly dry_run?: boolean;
}

async function call(name: keyof typeof commands, flags: Readonly<Record<string, unknown>>, isJson = true) {
  const command = commands[name];
  let stdout = "";
  const sink = new Writable({
    write(chunk, _encoding, done) {
      stdout += String(chunk);
      done();
    },
  });
  const terminal = {
    version: "0.0.0",
    env: { REDRIVE_HOME: workshop.home },
    cwd: workshop.top,
    stdin: new PassThrough(),
    stdout: sink,
    stderr: sink,
  };
  const code = await command.run(new Context(terminal, { json: isJson }), flags);
  return { code, stdout, answer: isJson ? (JSON.parse(stdout) as Answer) : {} };
}

/** The item `one` is a letter of job-1, whose worktree is kept. */
async function letter(): Promise<string> {
  const worktree = await job.acquire("one", 1);
  put(worktree.path, "x", "x");
  job.keep(worktree, "it failed");
  await engine.add("job-1", [{ itemId: "one", data: null }]);
  await engine.registerHolder({
    id: "h",
    queue: "job-1",
    host: "h",
    pid: 1,
    processStart: "1",
    ttlMs: 60_000,
  });
  const { leased } = await engine.settleAndLease("h", { settle: [], lease: { queue: "job-1", max: 1 } });
  await engine.settleAndLease("h", { settle: leased.map((lease) => buried(lease)) });
  return worktree.path;
}

describe("worktrees list", () => {
  it("names every worktree for a script and for a person", async () => {
    const path = await letter();
    const { code, answer } = await call("list", { job: "nightly" });
    expect(code).toBe(0);
    expect(answer.worktrees).toEqual([expect.objectContaining({ path, state: "kept", item_id: "one" })]);
    const { stdout } = await call("list", {}, false);
    expect(stdout).toContain(path);
    expect(stdout).toMatch(/^JOB +STATE/);
  });

  it("reports that there are none", async () => {
    expect((await call("list", {}, false)).stdout).toBe("No worktrees.\n");
    expect((await call("list", {})).answer).toEqual({ worktrees: [] });
  });
});

describe("worktrees clean", () => {
  it("keeps the worktree of a letter until the letter is gone", async () => {
    const path = await letter();
    await engine.changeJob("job-1", { status: "completed" });
    const { answer } = await call("clean", {});
    expect(answer.left).toEqual([expect.objectContaining({ path, left_because: "a letter needs it" })]);
    expect(existsSync(join(path, "x"))).toBe(true);
    const { id } = await engine.beginOperation({
      id: "op",
      kind: "redrive",
      queue: "job-1",
      filter: {},
      force: true,
      author: "ann",
      plan: {},
    });
    await engine.advance(id, { max: 10 });
    const { leased } = await engine.settleAndLease("h", { settle: [], lease: { queue: "job-1", max: 1 } });
    await engine.settleAndLease("h", { settle: leased.map((lease) => succeeded(lease)) });
    const after = await call("clean", {});
    expect(after.answer.left).toEqual([
      expect.objectContaining({ path, left_because: "it has uncommitted changes" }),
    ]);
    await call("clean", { force: true });
    expect(existsSync(path)).toBe(false);
  });

  it("reports what it would do with --dry-run", async () => {
    const worktree = await job.acquire("one", 1);
    await job.release(worktree);
    await job.close();
    const { answer, code } = await call("clean", { dryRun: true });
    expect(code).toBe(0);
    expect(answer).toMatchObject({ dry_run: true, removed: [{ path: worktree.path }] });
    expect(existsSync(worktree.path)).toBe(true);
    const { stdout } = await call("clean", { dryRun: true }, false);
    expect(stdout).toBe("Would remove 1 worktree and 0 branches.\n");
  });

  it("removes what an ended and merged job left, in one job or all", async () => {
    const worktree = await job.acquire("one", 1);
    put(worktree.path, "x", "x");
    commit(worktree.path, "x");
    await job.merge(worktree, "one");
    await job.release(worktree);
    await job.finishInto();
    await job.close();
    await expect(call("clean", { job: "other" })).rejects.toMatchObject({ code: "job_not_found" });
    await engine.changeJob("job-1", { status: "completed" });
    const { answer } = await call("clean", { job: "nightly", yes: true });
    expect(answer.branches_removed).toEqual(["redrive/job-1"]);
    expect(answer.removed).toHaveLength(1);
    expect(git(workshop.top, "branch", "--list", "redrive*")).toBe("");
  });

  it("keeps the branch of an interrupted job", async () => {
    await job.release(await job.acquire("one", 1));
    await job.close();
    await call("clean", {});
    expect(git(workshop.top, "branch", "--list", "redrive*").trim()).toBe("redrive/job-1");
  });
});
