/** The console while real processes work: live output and progress, a worker that is killed, and the worktree of an agent. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { redrive, startRedrive } from "../support/cli.ts";
import { axeFindings, onDisk, useBrowser } from "./kit.ts";

useBrowser();

const WAITS = 'echo "charging $1"; while [ ! -e go ]; do sleep 0.05; kill -0 $PPID || exit 1; done';

test("progress is live while a worker runs, is killed, and another one takes over", async () => {
  const { console, folder: home } = await onDisk();
  await redrive(["queue", "create", "orders", "--lease", "1s"], { home });
  await redrive(["queue", "add", "orders", "--key", "o-1", "--data", '"o-1"'], { home });
  const page = await console.open("/queues");
  const row = page.getByRole("row", { name: "orders" });
  const running = row.getByRole("cell").nth(2);
  await expect.poll(() => running.textContent()).toBe("0");

  const command = ["worker", "--queue", "orders", "--", "sh", "-c", WAITS, "x", "{}"];
  const worker = startRedrive(command, { home });
  await expect.poll(() => running.textContent()).toBe("1");
  await page.goto(`${console.url}/items/orders/o-1`);
  await page.getByText("Output, live").waitFor();
  await page.getByRole("region", { name: "Live output" }).getByText("charging o-1").waitFor();

  process.kill(worker.pid, "SIGKILL");
  await worker.ended;
  const second = startRedrive([...command.slice(0, 3), "--until-empty", ...command.slice(3)], { home });
  await page.getByText("lost").first().waitFor();
  await page.getByText("running").first().waitFor();
  writeFileSync(join(home, "go"), "");
  await second.ended;
  await page.getByText("succeeded").first().waitFor();
  await page.goto(`${console.url}/queues`);
  await expect.poll(() => row.getByRole("cell").nth(4).textContent()).toBe("1");
});

const WORKFLOW = `
name: fix
map:
  input: { command: "ls *.txt" }
  agent_template:
    - shell: "sed -i s/old/new/ \${item} && git commit -qam 'Change \${item}' && echo draft > notes.md && test \${item} = about.txt"
error_policy:
  retry_config: { max_attempts: 1 }
`;

test("a letter shows what its agent changed, and its job the phases and merges", async () => {
  const { console, folder: home } = await onDisk();
  const repository = join(home, "project");
  mkdirSync(repository);
  writeFileSync(join(repository, "page.txt"), "an old line\n");
  writeFileSync(join(repository, "about.txt"), "an old page\n");
  writeFileSync(join(repository, "workflow.yml"), WORKFLOW);
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", ...args], {
      cwd: repository,
    });
  git("init", "-q", ".");
  git("add", "-A");
  git("commit", "-qm", "Start");
  const env = { GIT_AUTHOR_NAME: "Ana", GIT_AUTHOR_EMAIL: "ana@example.org" };
  const committer = { GIT_COMMITTER_NAME: "Ana", GIT_COMMITTER_EMAIL: "ana@example.org" };
  await redrive(["run", "workflow.yml"], { home, cwd: repository, env: { ...env, ...committer } });

  const page = await console.open("/letters");
  await page.getByRole("link", { name: "page.txt" }).click();
  const committed = page.getByRole("region", { name: "Changes of page.txt" });
  expect(await committed.textContent()).toContain("− an old line+ an new line");
  await page.getByRole("region", { name: "Changes of notes.md" }).getByText("draft").waitFor();
  expect(await axeFindings(page)).toEqual([]);

  await page.getByRole("link", { name: "Jobs" }).click();
  await page.getByRole("link", { name: "fix-" }).click();
  await page.getByText("What failed").waitFor();
  await page.getByRole("img", { name: /Items by state: 1 d\w+, 1 d\w+/u }).waitFor();
  const phases = page.getByRole("list", { name: "Phases" }).getByRole("listitem");
  await phases.filter({ hasText: "✓map" }).waitFor();
  const worktrees = page.getByRole("table", { name: "Merges and kept worktrees" });
  await worktrees.getByRole("row", { name: /about\.txt.*merged [\da-f]{9}/u }).waitFor();
  await worktrees.getByRole("row", { name: /page\.txt.*kept redrive-agent/u }).waitFor();
  expect(await axeFindings(page)).toEqual([]);
});

test("a letter shows what its agents used, and how to open their sessions", async () => {
  const { console, folder: home } = await onDisk();
  await redrive(["map", "--name", "fix", "--retries", "0", "-q", "--", "false", "{}"], {
    home,
    stdin: "page",
  });
  const [letter] = (await console.engine.listLetters({ limit: 1 })).letters;
  const { ref = 0, queue = "" } = letter ?? {};
  const at = await console.engine.now();
  const run = { lease: { ref, attempt: 1 }, isFinal: true, startedAt: at, updatedAt: at };
  await console.engine.writeAgentRuns(queue, [
    {
      ...run,
      id: "one",
      step: "step 1",
      agent: "claude",
      session: "s-17",
      usage: { costUsd: 0.25, turns: 3 },
    },
    { ...run, id: "two", step: "step 2", agent: "fixer", isFinal: false, usage: {} },
  ]);
  const page = await console.open("/letters");
  await page.getByRole("link", { name: "page" }).click();
  await page.getByRole("heading", { name: "Agents (2)" }).waitFor();
  const agents = page.getByRole("listitem");
  await agents.filter({ hasText: "claudeattempt 1 · step 1 · 3 turns · $0.25" }).waitFor();
  await agents.filter({ hasText: "fixerattempt 1 · step 2 · no final result" }).waitFor();
  const copy = agents.getByRole("button", { name: "Copy the command that opens its session" });
  expect(await copy.getAttribute("title")).toBe("claude --resume s-17");
  expect(await axeFindings(page)).toEqual([]);
});

test("an item of a running map is skipped, and the map is paused, continued and stopped", async () => {
  const { console, folder: home } = await onDisk();
  const map = ["map", "--name", "charges", "-j", "1", "--quiet", "--", "sh", "-c", WAITS, "x", "{}"];
  const running = startRedrive(map, { home, stdin: "first\nsecond\nthird\n" });
  const jobId = async () => (await console.engine.listJobs({ limit: 1 }))[0]?.id ?? "";
  const page = await console.open("/jobs");
  await page.getByRole("link", { name: "charges-" }).click();
  const now = page.getByRole("listitem").filter({ hasText: "charging first" });
  const [lease] = await console.engine.listItems({ queue: await jobId(), states: ["leased"], limit: 1 });
  const at = await console.engine.now();
  await console.engine.writeAgentRuns(await jobId(), [
    {
      ...{ id: "one", step: "step 1", agent: "claude", session: "s-17", usage: { turns: 3 } },
      ...{ lease: { ref: lease?.ref ?? 0, attempt: 1 }, isFinal: false, startedAt: at, updatedAt: at },
    },
  ]);
  await now.getByText("3 turns · step 1").waitFor();
  await now.getByRole("button", { name: "Output" }).click();
  await now.getByText(`redrive attach ${await jobId()} ${lease?.itemId}`, { exact: true }).waitFor();
  await now.getByText("claude --resume s-17", { exact: true }).waitFor();
  await now.getByRole("button", { name: "Skip" }).click();
  await page.getByRole("listitem").filter({ hasText: "charging second" }).waitFor();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("Ⅱpaused").waitFor();
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await page.getByText("▸running").first().waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).first().click();
  await running.ended;
  await page.getByText("The job has not finished.").waitFor();
  expect(await console.engine.count(await jobId())).toMatchObject({ skipped: 1, ready: 2, dead: 0 });
});
