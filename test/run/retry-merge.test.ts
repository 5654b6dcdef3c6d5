/** A program that retries letters of a workflow gets an error when their work could not be merged. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../src/engines/open.ts";
import { DlqManager } from "../../src/run/dlq-manager.ts";
import { startWorkflow } from "../../src/run/workflow.ts";
import { requireWorkflow } from "../../src/workflow/read-workflow.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

test("reprocessItems rejects with git_refused and names the branch, and the letters are done", async () => {
  const directory = new TemporaryDirectory();
  onTestFinished(() => directory.remove());
  const top = join(directory.path, "project");
  mkdirSync(top);
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: top, encoding: "utf8", stdio: "pipe" }).trim();
  git("init", "-q", "-b", "main");
  git("config", "user.name", "Test");
  git("config", "user.email", "test@example.com");
  writeFileSync(join(top, "items.txt"), "a\n");
  git("add", "-A");
  git("commit", "-q", "-m", "first");
  const mended = join(directory.path, "mended");
  const text = JSON.stringify({
    name: "mending",
    map: { input: "items.txt", agent_template: [{ shell: `test -e ${mended} && echo x > made.txt` }] },
    reduce: [{ shell: "true" }],
    error_policy: { retry_config: { max_attempts: 1 } },
  });
  const spec = {
    workflow: requireWorkflow(text, "workflow.yml", { variables: [] }),
    file: join(top, "workflow.yml"),
    digest: "",
    cwd: top,
    variables: {},
    mergeMode: "auto",
  } as const;
  const engine = await openStore("memory:");
  const home = join(directory.path, "home");
  const { summary } = await startWorkflow({ engine, home, stop: new AbortController().signal }, spec, {});
  expect(summary).toMatchObject({ dead: 1, eligible: 1 });
  writeFileSync(mended, "");
  writeFileSync(join(top, "made.txt"), "mine\n"); // in the way of the merge
  const manager = await DlqManager.open(engine, { job: summary.jobId, home });
  await expect(manager.reprocessItems()).rejects.toMatchObject({
    code: "git_refused",
    message: expect.stringContaining(`redrive/${summary.jobId}`),
  });
  expect(await manager.listItems()).toEqual([]);
  await engine.close();
});
