/** Conflicts between items that steps of the workflow resolve, in the worktree of the later item. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import { itemsJson, lines, mapOver, ONE_TRY, openProject, type Project } from "./project.ts";
import { SOUND } from "./workshop.ts";

/** Both items begin before one of them is merged, and change the same line. */
function openConflict(onConflict: unknown, more: object = {}) {
  const project = openProject({ ...itemsJson("a", "b"), "list.txt": "first\n" });
  const side = project.path("side");
  mkdirSync(side);
  const write = `touch ${side}/\${item.id}; until test -e ${side}/a && test -e ${side}/b; do sleep 0.02; done;
    echo \${item.id} > list.txt; git commit -qam "\${item.id}"`;
  const workflow = {
    env: { SIDE: side },
    map: mapOver(write, { max_parallel: 2 }),
    merge: { on_conflict: onConflict, ...more },
    error_policy: ONE_TRY,
  };
  return { project, side, workflow };
}

/** Keeps the lines of both sides. */
const KEEP_BOTH = "grep -hv '^[<=>|]\\{7\\}' list.txt > both; mv both list.txt";

const listOf = (project: Project) => lines(project.get("list.txt")).sort();

describe("on_conflict", () => {
  it.each(["commit-per-item", "squash"])(
    "resolves a conflict with %s, and both items are done",
    async (strategy) => {
      const { project, workflow } = openConflict([{ shell: KEEP_BOTH }], { strategy });
      const summary = await project.runJson(workflow);
      expect(summary).toMatchObject({ status: "completed", succeeded: 2, dead: 0, attempts: 2 });
      expect(listOf(project)).toEqual(["a", "b"]);
      const merges = lines(project.git("rev-list", "--merges", "HEAD"));
      expect(merges.length === 0).toBe(strategy === "squash");
      expect(await project.check()).toBe(SOUND);
    },
  );

  it("gives an agent the names of the files, and accepts a merge that the agent has committed", async () => {
    const agent = {
      command: ["sh", "-c", `cat > prompt; ${KEEP_BOTH}; mv prompt $L; git commit -qam resolved`],
    };
    const prompt = "Resolve ${conflict.files|words} for ${item.id}.";
    const { project, workflow } = openConflict([{ agent: { ...agent, prompt } }]);
    expect(await project.runJson(workflow)).toMatchObject({ succeeded: 2, dead: 0 });
    expect(listOf(project)).toEqual(["a", "b"]);
    expect(project.get("../ledger")).toMatch(/^Resolve list\.txt for [ab]\.$/);
    expect(lines(project.git("log", "--format=%s"))).toContain("resolved");
  });

  it.each([
    ["leaves markers", "true", "conflict markers are left in list.txt"],
    ["aborts the merge", "git merge --abort", "the merge was not completed"],
    ["fails", "echo cannot >&2; exit 3", "exit code 3: cannot"],
  ])("that %s makes a letter, and nothing half-done is merged", async (_, script, why) => {
    const { project, workflow } = openConflict({ shell: script });
    expect(await project.runJson(workflow)).toMatchObject({ succeeded: 1, dead: 1 });
    expect(listOf(project)).toHaveLength(1);
    const letter = await project.onlyLetter();
    const failure = letter.failure_history.at(-1);
    expect(failure?.error_type).toBe("MergeConflict");
    expect(failure?.error_context?.join("\n")).toContain(why);
    const worktree = letter.worktree_artifacts?.worktree_path ?? "";
    expect(project.gitIn(worktree, "status", "--porcelain")).toBe("");
  });

  it("is repeated after a kill of the runner, and the conflict is resolved once", {
    timeout: 120_000,
  }, async () => {
    const { project, side, workflow } = openConflict([
      { shell: `touch $SIDE/begun; while test -e $SIDE/hold; do sleep 0.02; done; ${KEEP_BOTH}` },
    ]);
    writeFileSync(`${side}/hold`, "");
    const running = project.startWorkflow(workflow, ["-q"]);
    await until("a conflict is being resolved", () => existsSync(`${side}/begun`));
    running.signal("SIGKILL");
    await running.ended;
    rmSync(`${side}/hold`);
    expect((await project.do("resume", "-q")).code).toBe(0);
    expect(
      lines(project.git("log", "--format=%(trailers:key=Redrive-Item,valueonly)", "main")).sort(),
    ).toEqual(['"a"', '"b"']);
    expect(project.get("list.txt")).not.toMatch(/[<>=]{7}/);
    expect(await project.check()).toBe(SOUND);
  });
});
