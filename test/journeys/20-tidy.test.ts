/** What a workflow leaves when it has ended, and how a later redrive merges its work. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  itemsJson,
  lines,
  mapOver,
  ONE_TRY,
  openProject,
  type Project,
  type WorkflowYaml,
} from "./project.ts";

const WORK = "echo ${item.id} > ${item.id}.txt; git add -A; git commit -qm ${item.id}";

/** `b` fails, with a commit in its worktree, until the file `mended` exists. */
function workflow(project: Project): WorkflowYaml {
  const fail = `[ \${item.id} != b ] || [ -e ${project.path("mended")} ] || exit 3`;
  return { map: mapOver(`${WORK}; ${fail}`), error_policy: ONE_TRY };
}

function worktreesOf(project: Project): string[] {
  return lines(project.git("worktree", "list")).slice(1);
}

describe("a workflow that has ended", () => {
  it("leaves no worktree, no branch and no record when everything is merged", async () => {
    const project = openProject(itemsJson("a", "c"));
    const { job_id } = await project.runJson(workflow(project));
    expect(project.get("a.txt")).toBe("a\n");
    expect(project.jobBranches).toEqual([]);
    expect(worktreesOf(project)).toEqual([]);
    expect(await project.worktrees()).toEqual([]);
    expect(existsSync(join(project.home, "redrive/worktrees/project", job_id))).toBe(false);
  });

  it("keeps its branch and the worktree of the letter, and nothing else", async () => {
    const project = openProject(itemsJson("a", "b", "c"));
    const { job_id } = await project.runJson(workflow(project));
    const letter = await project.onlyLetter();
    const { worktree_path: path = "", branch_name: branch = "" } = letter.worktree_artifacts ?? {};
    expect((await project.worktrees()).map((worktree) => worktree.path)).toEqual([path]);
    expect(project.jobBranches.sort()).toEqual([branch, `redrive/${job_id}`].sort());
    expect(project.gitIn(path, "log", "-1", "--format=%s")).toBe("b");
  });

  it("keeps its branch if it was not to be merged", async () => {
    const project = openProject(itemsJson("a"));
    const { job_id } = await project.runJson(workflow(project), ["--merge", "never"]);
    expect(project.jobBranches).toEqual([`redrive/${job_id}`]);
    expect(worktreesOf(project)).toEqual([]);
    expect(project.git("show", `redrive/${job_id}:a.txt`)).toBe("a");
    project.git("merge", "-q", "--no-edit", `redrive/${job_id}`);
    await project.do("worktrees", "clean", "--yes");
    expect(project.jobBranches).toEqual([]);
  });

  it("can be resumed, and has nothing to do", async () => {
    const project = openProject(itemsJson("a"));
    const { job_id } = await project.runJson(workflow(project));
    const head = project.git("rev-parse", "HEAD");
    const { code } = await project.do("resume", job_id);
    expect(code).toBe(0);
    expect(project.git("rev-parse", "HEAD")).toBe(head);
    expect(project.jobBranches).toEqual([]);
    expect(worktreesOf(project)).toEqual([]);
  });
});

describe("agents", () => {
  it("do no housekeeping in the user's repository", async () => {
    const project = openProject(itemsJson("a"));
    await project.runJson({ map: mapOver("git config gc.auto > setting.txt") });
    expect(project.get("setting.txt")).toBe("0\n");
    expect(
      lines(project.git("config", "--local", "--list")).filter((line) => line.startsWith("gc.")),
    ).toEqual([]);
  });
});

describe("a redrive after the end", () => {
  it("merges into the branch that the run started from, reports it, and leaves nothing", async () => {
    const project = openProject(itemsJson("a", "b"));
    const { job_id } = await project.runJson(workflow(project));
    project.write("mended", "");
    const { code, stderr } = await project.do("dlq", "retry", job_id, "--yes");
    expect(code).toBe(0);
    expect(stderr).toContain("Merged into main");
    expect(project.get("b.txt")).toBe("b\n");
    expect(project.git("status", "--porcelain")).toBe("");
    expect(project.jobBranches).toEqual([]);
    expect(worktreesOf(project)).toEqual([]);
  });

  it("that fails again keeps the new worktree instead of the old one", async () => {
    const project = openProject(itemsJson("a", "b"));
    const { job_id } = await project.runJson(workflow(project));
    const before = (await project.onlyLetter()).worktree_artifacts?.branch_name;
    expect((await project.do("dlq", "retry", job_id, "--yes")).code).toBe(3);
    const after = (await project.onlyLetter()).worktree_artifacts;
    expect(after?.branch_name).not.toBe(before);
    expect((await project.worktrees()).map(({ path }) => path)).toEqual([after?.worktree_path]);
    expect(project.jobBranches).not.toContain(before);
  });

  it("leaves the work in the job's branch if the run was not to be merged", async () => {
    const project = openProject(itemsJson("a", "b"));
    const { job_id } = await project.runJson(workflow(project), ["--merge", "never"]);
    const head = project.git("rev-parse", "HEAD");
    project.write("mended", "");
    const { stderr } = await project.do("dlq", "retry", job_id, "--yes");
    expect(stderr).toContain(`git merge --no-ff redrive/${job_id}`);
    expect(project.git("rev-parse", "HEAD")).toBe(head);
    expect(project.git("show", `redrive/${job_id}:b.txt`)).toBe("b");
  });

  it("of an unfinished run merges nothing yet", async () => {
    const project = openProject(itemsJson("a", "b"));
    const failing = { ...workflow(project), reduce: [{ shell: `[ -e ${project.path("ready")} ]` }] };
    expect((await project.runWorkflow(failing)).code).toBe(1);
    const head = project.git("rev-parse", "HEAD");
    project.write("mended", "");
    const [job] = project.jobBranches.filter((name) => name.startsWith("redrive/"));
    const id = job?.replace("redrive/", "") ?? "";
    const retried = await project.do("dlq", "retry", id, "--yes");
    expect(retried.code).toBe(5);
    expect(retried.stderr).toContain(`redrive resume ${id}`);
    expect(project.git("rev-parse", "HEAD")).toBe(head);
    project.write("ready", "");
    expect((await project.do("resume", id)).code).toBe(0);
    expect([project.get("a.txt"), project.get("b.txt")]).toEqual(["a\n", "b\n"]);
    expect(project.jobBranches).toEqual([]);
  });

  it("works if the user has merged the branch by hand and removed it", async () => {
    const project = openProject(itemsJson("a", "b"));
    const { job_id } = await project.runJson(workflow(project), ["--merge", "never"]);
    project.git("merge", "-q", "--no-ff", "--no-edit", `redrive/${job_id}`);
    project.git("branch", "-q", "-d", `redrive/${job_id}`);
    project.write("mended", "");
    expect((await project.do("dlq", "retry", job_id, "--yes")).code).toBe(0);
    expect(project.git("show", `redrive/${job_id}:b.txt`)).toBe("b");
  });
});
