/** What the tests of the step executor share: a folder to work in, a world around it, and steps with their defaults. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { openLauncher } from "../../../src/attempt/launcher.ts";
import type { Failure } from "../../../src/item/failure.ts";
import { systemClock } from "../../../src/std/clock.ts";
import type { Action, Step } from "../../../src/workflow/model.ts";
import { type RunStepsOptions, runSteps } from "../../../src/workflow/run-steps.ts";
import { maskerOf } from "../../../src/workflow/secrets.ts";
import type { StepContext, StepsEnd } from "../../../src/workflow/step-context.ts";

const AGENT = resolve("test/support/fake-agent.mjs");

export interface Bench {
  readonly root: string;
  readonly scratchFolder: string;
  readonly world: StepContext;
  readonly stop: AbortController;
  run(steps: readonly Step[], options?: RunStepsOptions): Promise<StepsEnd>;
  /** Fails the test unless the steps fail. */
  failure(steps: readonly Step[], options?: RunStepsOptions): Promise<Failure>;
  /** A file of the folder as text. */
  read(name: string): string;
  has(name: string): boolean;
  log(): string;
}

export function openBench(rest: Partial<StepContext> = {}): Bench {
  const folder = mkdtempSync(join(tmpdir(), "redrive-steps-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [root, scratchFolder] = [join(folder, "root"), join(folder, "scratch")];
  for (const path of [root, scratchFolder]) mkdirSync(path);
  const launcher = openLauncher();
  onTestFinished(() => launcher.close());
  const stop = new AbortController();
  const secretValues = rest.secretValues ?? [];
  const world: StepContext = {
    launcher,
    root,
    env: {},
    variables: {},
    mask: maskerOf(secretValues).mask,
    secretValues,
    logPath: join(folder, "logs", "item", "1.log"),
    scratch: join(scratchFolder, "agent"),
    signal: stop.signal,
    mayStart: () => true,
    graceMs: 200,
    agentId: "agent-1",
    attempt: 1,
    clock: systemClock,
    random: () => 0.5,
    ...rest,
  };
  const run = (steps: readonly Step[], options?: RunStepsOptions) => runSteps(steps, world, options);
  return {
    root,
    scratchFolder,
    world,
    stop,
    run,
    failure: async (steps, options) => {
      const end = await run(steps, options);
      if (end.kind !== "failed") throw new Error(`the steps did not fail: ${JSON.stringify(end)}`);
      return end.failure;
    },
    read: (name) => readFileSync(join(root, name), "utf8"),
    has: (name) => existsSync(join(root, name)),
    log: () => readFileSync(world.logPath, "utf8"),
  };
}

/** A bench whose folder is a git repository with one commit. */
export function openGitBench(): Bench {
  const bench = openBench();
  const git = (...args: string[]) => execFileSync("git", args, { cwd: bench.root, encoding: "utf8" }).trim();
  git("init", "-q", "-b", "main");
  git("config", "user.name", "Test");
  git("config", "user.email", "test@example.com");
  git("commit", "-q", "--allow-empty", "-m", "an old commit");
  Object.assign(bench.world, { head: async () => git("rev-parse", "HEAD") });
  return bench;
}

export function stepOf(action: Action, rest: Partial<Step> = {}): Step {
  return { action, env: {}, onSuccess: [], onExitCode: {}, commitRequired: false, ...rest };
}

export function shell(script: string, rest: Partial<Step> = {}): Step {
  return stepOf({ kind: "shell", script }, rest);
}

/** The fake agent as `claude` speaks; `acts` is what it does. */
export function claude(prompt: string, acts = "", rest: Partial<Step> = {}): Step {
  chmodSync(AGENT, 0o755);
  const command = [AGENT, "-p", "--output-format", "stream-json", "--verbose"];
  const step = stepOf({ kind: "agent", command, prompt, protocol: "claude" }, rest);
  return { ...step, env: { FAKE_AGENT: acts, ...step.env } };
}

/** The fake agent as any other. */
export function agent(prompt: string, acts = "", rest: Partial<Step> = {}): Step {
  const step = stepOf(
    { kind: "agent", command: [process.execPath, AGENT, "--go"], prompt, protocol: "plain" },
    rest,
  );
  return { ...step, env: { FAKE_AGENT: acts, ...step.env } };
}
