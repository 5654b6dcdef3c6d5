/** The letters of agents: all fields are filled and correct, and a retry runs the item's own work. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { itemsJson, mapOver, ONE_TRY, openProject, type Project } from "./project.ts";
import { type OperationJson, SOUND, type Summary, upTo } from "./workshop.ts";

/** Commits, leaves a change uncommitted and an untracked file, prints, and fails. */
const FAILING = [
  { shell: "echo begun" },
  {
    id: "build",
    shell:
      'echo half > half.txt; git add -A; git commit -qm half; echo changed >> README.md; touch stray.txt; echo "working on ${item.id}"; echo "error: cannot build ${item.id}" >&2; exit 42',
  },
];

const TWICE = { retry_config: { max_attempts: 2, backoff: "fixed", initial_delay: "1ms" } };

describe("the letter of an agent", () => {
  it("pitfall 24: names the failed step, its failure, and every file by its path", async () => {
    const project = openProject(itemsJson({ id: "it/em 1", deep: [1, { x: "y" }] }));
    const before = Date.now();
    const { job_id } = await project.runJson({ map: mapOver(FAILING), error_policy: TWICE });
    const letter = await project.onlyLetter();
    expect(letter).toMatchObject({
      item_id: "it/em 1",
      item_data: { id: "it/em 1", deep: [1, { x: "y" }] },
      job_id,
      state: "dead",
      failure_count: 2,
      reprocess_eligible: true,
      manual_review_required: false,
      reason: "out of retries (2 of 2 attempts used)",
      redrive_count: 0,
    });
    expect(letter.error_signature).toMatch(/^[0-9a-f]{16}$/);
    for (const [index, failure] of letter.failure_history.entries()) {
      expect(failure).toMatchObject({
        attempt_number: index + 1,
        error_type: { CommandFailed: { exit_code: 42 } },
        exit_code: 42,
        stdout_tail: "working on it/em 1\n",
        stderr_tail: "error: cannot build it/em 1\n",
      });
      expect(failure.step_failed).toMatch(/^shell: echo half/);
      expect(failure.error_context?.join("\n")).toContain("step 2 of 2 (build): shell: echo half");
      expect(failure.agent_id).not.toBe("");
      expect(failure.duration_ms).toBeGreaterThan(0);
      expect(Date.parse(failure.timestamp)).toBeGreaterThanOrEqual(before);
      const log = readFileSync(failure.log ?? "", "utf8");
      expect(log).toContain("begun\n");
      expect(log).toContain("error: cannot build it/em 1\n");
    }
    expect(new Set(letter.failure_history.map(({ log }) => log)).size).toBe(2);
  });

  it("has the worktree as the agent left it: its branch, its commit, its uncommitted changes", async () => {
    const project = openProject(itemsJson("a"));
    await project.runJson({ map: mapOver(FAILING), error_policy: TWICE });
    const { worktree_artifacts: place } = await project.onlyLetter();
    if (place === undefined) throw new Error("no artifacts");
    expect(place.worktree_path.startsWith(project.path("redrive/worktrees/project/"))).toBe(true);
    expect(project.gitIn(place.worktree_path, "symbolic-ref", "--short", "HEAD")).toBe(place.branch_name);
    expect(project.subjects(place.branch_name)).toEqual(["half", "first"]);
    expect(place.head).toBe(project.gitIn(place.worktree_path, "rev-parse", "HEAD"));
    expect(place.uncommitted_changes).toContain("README.md");
    expect(place.uncommitted_changes).toContain("stray.txt");
    expect(readFileSync(join(place.worktree_path, "README.md"), "utf8")).toBe("a project\nchanged\n");
    expect(existsSync(join(place.worktree_path, "stray.txt"))).toBe(true);
    expect(project.subjects("main")).toEqual(["first"]);
  });

  it("is shown by dlq inspect with its paths", async () => {
    const project = openProject(itemsJson("a"));
    const { job_id } = await project.runJson({ map: mapOver(FAILING), error_policy: TWICE });
    const letter = await project.onlyLetter();
    const { stdout } = await project.do("dlq", "inspect", "a", "--job", job_id);
    for (const text of [
      letter.worktree_artifacts?.worktree_path,
      letter.worktree_artifacts?.branch_name,
      letter.failure_history.at(-1)?.log,
      "error: cannot build a",
      "exit 42",
      `redrive dlq retry ${job_id} a`,
    ]) {
      expect(stdout).toContain(text);
    }
    expect((await project.do("dlq", "inspect", "a", "--json")).json()).toMatchObject(letter);
  });

  it("shares a group with those that failed in the same way, whatever their item and worktree", async () => {
    const project = openProject(itemsJson("part-1", "part-2", "part-3"));
    const summary = await project.runJson({ map: mapOver(FAILING), error_policy: ONE_TRY });
    expect(summary.groups).toHaveLength(1);
    expect(summary.groups[0]).toMatchObject({ count: 3 });
    const paths = (await project.agentLetters()).map((letter) => letter.worktree_artifacts?.worktree_path);
    expect(new Set(paths).size).toBe(3);
  });
});

/** Fails until the fix exists. */
const untilFixed = (project: Project) => ({
  map: mapOver([
    { shell: `echo "run \${item.id}" >> $L; echo half > half.txt; test -e ${project.path("fixed")}` },
    { shell: "rm half.txt; echo ${item.id} > ${item.id}.txt" },
  ]),
  error_policy: ONE_TRY,
});

const retry = async (project: Project, job: string, ...flags: string[]) =>
  (await project.do("dlq", "retry", job, "--yes", "--json", ...flags)).json<OperationJson>();

describe("redrive dlq retry", () => {
  it("runs the agent again in a worktree and merges; the letter and its worktree are gone", async () => {
    const project = openProject(itemsJson("a", "b"));
    const { job_id } = await project.runJson(untilFixed(project));
    const kept = (await project.agentLetters()).map(
      (letter) => letter.worktree_artifacts?.worktree_path ?? "",
    );
    expect(kept.map((path) => existsSync(path))).toEqual([true, true]);
    project.write("fixed", "");
    expect(await retry(project, job_id)).toMatchObject({
      selected: 2,
      redriven: 2,
      refused: 0,
      succeeded: 2,
      failed: 0,
      remaining: 0,
    });
    expect([...project.ledger].sort()).toEqual(["run a", "run a", "run b", "run b"]);
    expect([project.get("a.txt"), project.get("b.txt")]).toEqual(["a\n", "b\n"]);
    expect(await project.letters()).toEqual([]);
    expect(await project.json<Summary>("status", job_id)).toMatchObject({ succeeded: 2, dead: 0 });
    await project.do("worktrees", "clean", "--yes");
    expect(await project.worktrees()).toEqual([]);
    expect(project.jobBranches).toEqual([]);
    expect(project.git("worktree", "list").split("\n")).toHaveLength(1);
    expect(kept.filter((path) => existsSync(path))).toEqual([]);
    expect(await project.check()).toBe(SOUND);
  });

  it("that fails again is the same letter with a longer history and an existing worktree", async () => {
    const project = openProject(itemsJson("a"));
    const { job_id } = await project.runJson(untilFixed(project));
    expect(await retry(project, job_id)).toMatchObject({ succeeded: 0, failed: 1 });
    const letter = await project.onlyLetter();
    expect(letter.failure_history.map(({ attempt_number }) => attempt_number)).toEqual([1, 2]);
    expect(letter.redrive_count).toBe(1);
    expect(existsSync(join(letter.worktree_artifacts?.worktree_path ?? "", "half.txt"))).toBe(true);
    for (const { log } of letter.failure_history) {
      if (log !== undefined) expect(existsSync(log)).toBe(true);
    }
    project.write("fixed", "");
    expect(await retry(project, job_id)).toMatchObject({ succeeded: 1 });
    expect(project.get("a.txt")).toBe("a\n");
    await project.do("worktrees", "clean", "--yes");
    expect(await project.worktrees()).toEqual([]);
  });

  it("retries only the named items", async () => {
    const project = openProject(itemsJson("a", "b"));
    const { job_id } = await project.runJson(untilFixed(project));
    project.write("fixed", "");
    const operation = (await project.do("dlq", "retry", job_id, "b", "--json")).json<OperationJson>();
    expect(operation).toMatchObject({ selected: 1, succeeded: 1 });
    expect((await project.letters()).map(({ item_id }) => item_id)).toEqual(["a"]);
  });

  it("--dry-run runs nothing", async () => {
    const project = openProject(itemsJson("a"));
    const { job_id } = await project.runJson(untilFixed(project));
    expect(await retry(project, job_id, "--dry-run")).toMatchObject({ selected: 1, succeeded: 0 });
    expect(project.ledger).toEqual(["run a"]);
    expect(await project.letters()).toHaveLength(1);
  });
});

describe("worktrees", () => {
  it("that a letter needs are kept by clean and named; --force removes them", async () => {
    const project = openProject(itemsJson("a"));
    await project.runJson({ map: mapOver(FAILING), error_policy: ONE_TRY });
    const path = (await project.onlyLetter()).worktree_artifacts?.worktree_path ?? "";
    expect((await project.worktrees()).find((one) => one.path === path)).toMatchObject({
      state: "kept",
      item_id: "a",
    });
    expect((await project.do("worktrees", "clean", "--yes")).stdout).toContain(
      `Left ${path}: a letter needs it.`,
    );
    expect(existsSync(path)).toBe(true);
    expect((await project.do("worktrees", "clean", "--yes", "--force")).code).toBe(0);
    expect(existsSync(path)).toBe(false);
  });

  it("are reused: ten agents one after the other need no more than two", async () => {
    const project = openProject(itemsJson(...upTo(10).map((n) => `i${n}`)));
    const shell = "pwd >> $L; touch ${item.id}.txt";
    await project.runJson({ map: mapOver(shell, { max_parallel: 1 }) });
    expect(new Set(project.ledger).size).toBeLessThanOrEqual(2);
    expect(readdirSync(project.top).filter((name) => name.endsWith(".txt"))).toHaveLength(10);
  });

  it("show nothing of one item to the next, except what the workflow keeps", async () => {
    const project = openProject({ ...itemsJson("a", "b", "c"), ".gitignore": "*.cache\nkept/\n" });
    const shell =
      'ls -A | tr "\\n" " " >> $L; ls kept 2>/dev/null | tr "\\n" " " >> $L; echo >> $L; touch x.cache; mkdir -p kept; touch kept/${item.id}';
    await project.runJson({ map: mapOver(shell, { max_parallel: 1, keep: ["kept"] }) });
    const seen = project.ledger.map((line) => line.trim());
    const fresh = ".git .gitignore README.md items.json";
    expect(seen[0]).toBe(fresh);
    expect(seen.filter((line) => line !== fresh && !line.startsWith(`${fresh} kept `))).toEqual([]);
    expect(seen.at(-1)).toMatch(/ kept a/);
  });
});
