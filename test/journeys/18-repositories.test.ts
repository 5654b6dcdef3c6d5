/**
 * Repositories in unusual states: dirty, detached, bare, in the middle of an operation, with hooks and submodules.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { itemsJson, lines, mapOver, ONE_TRY, openFolder, openProject } from "./project.ts";
import type { Summary } from "./workshop.ts";

const NAMES = itemsJson("a", "b");
const WRITE = "echo ${item.id} > ${item.id}.txt";
const flow = { map: mapOver(WRITE), error_policy: ONE_TRY };

describe("a dirty checkout", () => {
  it("is reported, not visible to agents, and unchanged; the merge succeeds if nothing is in the way", async () => {
    const project = openProject({ ...NAMES, "notes.txt": "old\n" });
    project.put("notes.txt", "mine\n");
    project.put("untracked.txt", "mine\n");
    const { code, stderr } = await project.runWorkflow({
      map: mapOver(`cat notes.txt >> $L; test ! -e untracked.txt; ${WRITE}`),
      error_policy: ONE_TRY,
    });
    expect(code).toBe(0);
    expect(stderr).toContain("2 uncommitted changes");
    expect(project.ledger).toEqual(["old", "old"]);
    expect([project.get("notes.txt"), project.get("untracked.txt")]).toEqual(["mine\n", "mine\n"]);
    expect(project.get("a.txt")).toBe("a\n");
    expect(lines(project.git("status", "--porcelain"))).toHaveLength(2);
  });

  it("that is in the way of the merge is unchanged, and the branch with the work is named", async () => {
    const project = openProject({ ...NAMES, "a.txt": "old\n" });
    project.put("a.txt", "mine\n");
    const before = project.userSide;
    const { code, stderr } = await project.runWorkflow(flow);
    expect(code).toBe(0);
    expect(project.userSide).toEqual(before);
    expect(stderr).toContain("a.txt");
    const command = /To merge it: (.+)/.exec(stderr)?.[1] ?? "";
    project.sh(`git checkout -q a.txt && ${command}`);
    expect(project.get("b.txt")).toBe("b\n");
  });
});

describe("a detached HEAD", () => {
  it("is where agents start; the branch is left for the user to merge", async () => {
    const project = openProject(NAMES);
    project.git("checkout", "-q", "--detach");
    const head = project.git("rev-parse", "HEAD");
    const { code, stderr } = await project.runWorkflow(flow);
    expect(code).toBe(0);
    expect(stderr).toContain("HEAD is detached");
    expect(project.git("rev-parse", "HEAD")).toBe(head);
    const [branch = ""] = project.jobBranches;
    expect(stderr).toContain(`git merge --no-ff ${branch}`);
    expect(project.git("show", `${branch}:a.txt`)).toBe("a");
    expect((await project.do("worktrees", "clean", "--yes")).code).toBe(0);
    expect(project.jobBranches).toEqual([branch]); // nothing with unmerged work goes
  });
});

describe("a folder without a usable repository", () => {
  it.each([
    ["no repository", () => openFolder(NAMES), "is not in a git repository"],
    [
      "a bare repository",
      () => {
        const project = openFolder(NAMES);
        project.git("init", "-q", "--bare");
        return project;
      },
      "is a bare repository",
    ],
    [
      "no commit",
      () => {
        const project = openFolder(NAMES);
        project.git("init", "-q");
        return project;
      },
      "has no commit to start from",
    ],
    [
      "a merge in progress",
      () => {
        const project = openProject({ ...NAMES, "x.txt": "0\n" });
        project.sh(
          "git checkout -qb other; echo 1 > x.txt; git commit -qam 1; git checkout -q main; echo 2 > x.txt; git commit -qam 2; git merge -q other >/dev/null 2>&1 || true",
        );
        return project;
      },
      "A merge is in progress",
    ],
  ])("%s: a clear error, exit code 2, and nothing has run", async (_, make, message) => {
    const project = make();
    const { code, stderr } = await project.runWorkflow({ setup: [{ shell: "echo x >> $L" }], ...flow });
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(project.ledger).toEqual([]);
    expect(await project.json("jobs")).toEqual({ jobs: [] });
  });
});

describe("a hook that rejects", () => {
  it("an agent's own commit fails its step, and the letter has the hook's message", async () => {
    const project = openProject(NAMES);
    project.hook("pre-commit", "if [ -e b.txt ]; then echo the hook says no >&2; exit 1; fi");
    const result = await project.runJson({
      map: mapOver(`${WRITE}; git add -A; git commit -qm x`),
      error_policy: ONE_TRY,
    });
    expect(result).toMatchObject({ succeeded: 1, dead: 1 });
    expect((await project.onlyLetter()).failure_history[0]?.stderr_tail).toContain("the hook says no");
    expect(project.get("a.txt")).toBe("a\n");
  });

  it("the commit of an agent's leftovers is a letter, and the work is in its worktree", async () => {
    const project = openProject(NAMES);
    project.hook("pre-commit", "if [ -e b.txt ]; then echo the hook says no >&2; exit 1; fi");
    expect(await project.runJson(flow)).toMatchObject({ succeeded: 1, dead: 1 });
    const letter = await project.onlyLetter();
    expect(letter.failure_history[0]).toMatchObject({
      error_type: "CommitValidationFailed",
      error_message: expect.stringContaining("the hook says no"),
    });
    expect(existsSync(join(letter.worktree_artifacts?.worktree_path ?? "", "b.txt"))).toBe(true);
  });

  it.each(["setup", "reduce"])(
    "the commit of what %s left fails the phase; nothing is lost silently",
    async (phase) => {
      const project = openProject(NAMES);
      project.hook("pre-commit", "if [ -e phase.txt ]; then echo the hook says no >&2; exit 1; fi");
      const result = await project.runWorkflow({ ...flow, [phase]: [{ shell: "echo x > phase.txt" }] });
      expect(result.code).not.toBe(0);
      expect(result.stderr).toContain("the hook says no");
      project.hook("pre-commit", "exit 0");
      expect((await project.do("resume")).code).toBe(0);
      expect(project.get("phase.txt")).toBe("x\n");
      expect(project.get("b.txt")).toBe("b\n");
    },
  );

  it("the final merge leaves the checkout unchanged and the branch with the work", async () => {
    const project = openProject(NAMES);
    project.hook("pre-merge-commit", "echo no merges today >&2; exit 1");
    const before = project.userSide;
    const { code, stderr } = await project.runWorkflow(flow);
    expect(code).toBe(0);
    expect(stderr).toContain("no merges today");
    expect(project.userSide).toEqual(before);
    expect(project.git("show", `${project.jobBranches[0]}:a.txt`)).toBe("a");
  });
});

describe("submodules", () => {
  it("are reported, and exist in an agent's worktree", async () => {
    const library = openProject({ "lib.txt": "library\n" });
    const project = openProject(NAMES);
    project.write(".gitconfig", '[protocol "file"]\n\tallow = always\n'); // git refuses local ones else
    project.git("submodule", "--quiet", "add", library.top, "lib");
    project.commitAll("with a submodule");
    const { code, stderr } = await project.runWorkflow({
      map: mapOver(`cat lib/lib.txt >> $L; ${WRITE}`),
      error_policy: ONE_TRY,
    });
    expect(stderr).toContain("submodules");
    expect(project.ledger).toEqual(["library", "library"]);
    expect(code).toBe(0);
    expect(project.get("a.txt")).toBe("a\n");
    expect(project.get("lib/lib.txt")).toBe("library\n");
  });
});

describe("the user's folder", () => {
  it("in a repository is the folder of the worktree in which the steps run, as in the dry run", async () => {
    const project = openProject({ "pkg/items.json": NAMES["items.json"] ?? "" });
    const cwd = join(project.top, "pkg");
    const path = project.workflow({ setup: [{ shell: "pwd >> $L" }], ...flow });
    const dry = await project.run(["run", path, "--dry-run", "--json"], { ...project.here, cwd });
    expect(dry.json()).toMatchObject({ counts: { selected: 2 } });
    const result = await project.run(["run", path, "--json"], { ...project.here, cwd });
    expect(result.json<Summary>()).toMatchObject({ succeeded: 2 });
    expect(project.ledger[0]).toMatch(/\/pkg$/);
    expect(project.get("pkg/a.txt")).toBe("a\n");
  });

  it("in a linked worktree gets the work in the branch that is checked out there", async () => {
    const project = openProject(NAMES);
    const linked = project.path("linked");
    project.git("worktree", "add", "-q", "-b", "feature", linked);
    const result = await project.run(["run", project.workflow(flow), "--json"], {
      ...project.here,
      cwd: linked,
    });
    expect(result.code).toBe(0);
    expect(existsSync(join(linked, "a.txt"))).toBe(true);
    expect(project.get("a.txt")).toBe("");
    expect(project.git("show", "feature:b.txt")).toBe("b");
  });

  it("may be the same for two runs at once, which do not disturb each other", async () => {
    const project = openProject(itemsJson("a", "b", "c"));
    mkdirSync(project.path("two"));
    const one = project.workflow({
      name: "one",
      map: mapOver("echo 1 > one-${item.id}.txt"),
      error_policy: ONE_TRY,
    });
    const first = project.run(["run", one, "--json"], project.here);
    const other = project.write(
      "two/flow.yml",
      JSON.stringify({ name: "two", map: mapOver("echo 2 > two-${item.id}.txt"), error_policy: ONE_TRY }),
    );
    const second = project.run(["run", other, "--json"], project.here);
    const results = await Promise.all([first, second]);
    expect(results.map(({ code }) => code)).toEqual([0, 0]);
    const names = lines(project.git("ls-files", "*.txt"));
    expect(names).toEqual(["one", "two"].flatMap((run) => ["a", "b", "c"].map((id) => `${run}-${id}.txt`)));
    expect(project.git("status", "--porcelain")).toBe("");
  });
});
