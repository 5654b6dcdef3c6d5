/** `--merge ask`: the person is asked when there is something to merge, and only a yes merges it. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStore } from "../../src/engines/open.ts";
import { startWorkflow } from "../../src/run/workflow.ts";
import { requireWorkflow } from "../../src/workflow/read-workflow.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

let directory: TemporaryDirectory;
let top: string;

beforeEach(() => {
  directory = new TemporaryDirectory();
  top = join(directory.path, "project");
  mkdirSync(top);
  writeFileSync(join(top, "items.txt"), "one\n");
  git("init", "-q", "-b", "main");
  git("config", "user.name", "Tess Ter");
  git("config", "user.email", "tess@example.org");
  git("add", "-A");
  git("commit", "-q", "-m", "first");
});

afterEach(() => directory.remove());

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: top, encoding: "utf8", stdio: "pipe" }).trimEnd();
}

async function run(script: string, askMerge?: (question: string) => Promise<boolean>) {
  const engine = await openStore("memory:");
  const text = JSON.stringify({
    name: "asking",
    map: { input: "items.txt", agent_template: [{ shell: script }] },
  });
  const spec = {
    workflow: requireWorkflow(text, "workflow.yml", { variables: [] }),
    file: join(top, "workflow.yml"),
    digest: "",
    cwd: top,
    variables: {},
    mergeMode: "ask",
  } as const;
  const deps = { engine, home: join(directory.path, "home"), stop: new AbortController().signal };
  const result = await startWorkflow(deps, spec, { ...(askMerge && { askMerge }) });
  await engine.close();
  return result;
}

test("a yes merges", async () => {
  const questions: string[] = [];
  const { finish } = await run("echo x > made.txt", async (question) => {
    questions.push(question);
    return true;
  });
  expect(questions).toEqual([expect.stringMatching(/^Merge redrive\/asking-\w{8} into main\?$/)]);
  expect(finish?.note).toMatch(/^Merged into main/);
  expect(existsSync(join(top, "made.txt"))).toBe(true);
});

test("a no leaves the branch, and reports the command that merges it", async () => {
  const { finish } = await run("echo x > made.txt", async () => false);
  expect(finish?.note).toContain(`To merge it: git switch main && git merge --no-ff ${finish?.branch}`);
  expect(existsSync(join(top, "made.txt"))).toBe(false);
  expect(git("show", `${finish?.branch}:made.txt`)).toBe("x");
});

test("without a terminal, the branch is left", async () => {
  const { finish } = await run("echo x > made.txt");
  expect(finish?.branch).toMatch(/^redrive\/asking-/);
});

test("nobody is asked if there is nothing to merge", async () => {
  const { finish } = await run("true", () => Promise.reject(new Error("asked")));
  expect(finish).toEqual({});
});
