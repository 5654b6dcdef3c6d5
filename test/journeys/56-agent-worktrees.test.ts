/** The worktrees of agents: why none could be created, whose they are, and which are kept. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { itemsJson, mapOver, ONE_TRY, openProject, type Project } from "./project.ts";
import { SOUND, type Summary } from "./workshop.ts";

const AT_ONCE = { backoff: "fixed", initial_delay: "1ms" };

/** A git that cannot create an agent's worktree while the file exists. Returns that file. */
function breakGit(project: Project): string {
  project.here; // makes the folder of programs
  const flag = project.write("broken", "");
  const script = `#!/bin/sh
case "$*" in *"worktree add"*agent-*) if [ -e ${flag} ]; then
  echo "fatal: could not create leading directories of '/agent': Input/output error" >&2
  exit 128
fi;; esac
PATH="${process.env.PATH}"
exec git "$@"
`;
  writeFileSync(join(project.path("bin"), "git"), script, { mode: 0o755 });
  return flag;
}

describe("a worktree that cannot be created", () => {
  it("is a WorktreeError letter after the item's attempts, and the reason is shown", async () => {
    const project = openProject(itemsJson("a", "b"));
    const flag = breakGit(project);
    const workflow = {
      map: mapOver("echo ${item.id} > ${item.id}.txt"),
      error_policy: { retry_config: { max_attempts: 2, ...AT_ONCE } },
    };
    const result = await project.runWorkflow(workflow, ["--json"]);
    expect(result.code).toBe(3);
    const summary = result.json<Summary>();
    expect(summary).toMatchObject({ status: "completed", dead: 2, attempts: 4 });
    expect(result.stderr).toMatch(/WorktreeError: git worktree: fatal: could not create leading directories/);
    for (const letter of await project.agentLetters()) {
      expect(letter.failure_history.map((one) => one.error_type)).toEqual(["WorktreeError", "WorktreeError"]);
      expect(letter.failure_history.at(-1)?.error_message).toContain("Input/output error");
      expect(letter.worktree_artifacts).toBeUndefined();
      expect(letter).toMatchObject({
        reason: "out of retries (2 of 2 attempts used)",
        reprocess_eligible: true,
      });
    }
    expect(summary.groups).toHaveLength(1);

    project.sh(`rm ${flag}`);
    expect((await project.do("dlq", "retry", summary.job_id, "--yes")).code).toBe(0);
    expect(project.get("b.txt")).toBe("b\n");
    expect(await project.check()).toBe(SOUND);
  });
});

describe("the letter of an agent", () => {
  it("names the worktree as its agent, and has the agent's output as error logs", async () => {
    const project = openProject(itemsJson("a"));
    const shell = "echo started; echo boom >&2; exit 4";
    await project.runJson({ map: mapOver(shell), error_policy: ONE_TRY });
    const { failure_history: history, worktree_artifacts: artifacts } = await project.onlyLetter();
    expect(artifacts?.error_logs).toBe("boom\n");
    expect(history[0]?.agent_id).toMatch(/^agent-1-\w+$/);
    expect(basename(artifacts?.worktree_path ?? "")).toBe(history[0]?.agent_id);
  });
});

describe("keep_worktrees", () => {
  const flow = (keep_worktrees: string) => ({
    map: mapOver("echo ${item.id} > out.${item.id}; [ ${item.id} = good ]", { keep_worktrees }),
    error_policy: ONE_TRY,
  });
  const states = async (project: Project) =>
    (await project.worktrees()).filter(({ state }) => state === "kept").map(({ item_id }) => item_id);

  it("never leaves no worktree, and the letter names none", async () => {
    const project = openProject(itemsJson("good", "bad"));
    const { job_id } = await project.runJson(flow("never"));
    expect((await project.onlyLetter()).worktree_artifacts).toBeUndefined();
    expect(await states(project)).toEqual([]);
    expect((await project.do("dlq", "retry", job_id, "--yes", "--json")).code).toBe(3);
    expect(await states(project)).toEqual([]);
  });

  it("failed keeps those of letters", async () => {
    const project = openProject(itemsJson("good", "bad"));
    await project.runJson(flow("failed"));
    expect(await states(project)).toEqual(["bad"]);
  });

  it("always keeps that of every item until `worktrees clean`", async () => {
    const project = openProject(itemsJson("good", "bad"));
    await project.runJson(flow("always"));
    expect((await states(project)).sort()).toEqual(["bad", "good"]);
    const good = (await project.worktrees()).find(({ item_id }) => item_id === "good");
    expect(readFileSync(join(good?.path ?? "", "out.good"), "utf8")).toBe("good\n");
    expect((await project.do("worktrees", "clean", "--yes")).code).toBe(0);
    expect(await states(project)).toEqual(["bad"]);
    expect(existsSync(good?.path ?? "")).toBe(false);
  });
});

it("the folders of a job started in a linked worktree have the repository's name", async () => {
  const project = openProject(itemsJson("bad"));
  const linked = project.path("feature-x");
  project.git("worktree", "add", "-q", linked);
  const file = project.workflow({ map: mapOver("exit 3"), error_policy: ONE_TRY });
  const result = await project.run(["run", file, "--json"], { ...project.here, cwd: linked });
  const { job_id } = result.json<Summary>();
  const { worktree_artifacts: artifacts } = await project.onlyLetter();
  expect(artifacts?.worktree_path).toContain(join("redrive", "worktrees", "project"));
  expect(existsSync(project.path(`redrive/dlq/project/${job_id}`))).toBe(true);
  expect(existsSync(project.path("redrive/dlq/feature-x"))).toBe(false);
  expect(JSON.parse(project.read("redrive/dlq/global/retention-policy.json"))).toMatchObject({
    max_items: 10_000,
    retention_days: 30,
  });
});
