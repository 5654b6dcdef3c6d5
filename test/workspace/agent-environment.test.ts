/** What the git of agents is told. */
import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { agentEnvironment } from "../../src/workspace/git.ts";

function setting(env: NodeJS.ProcessEnv, name: string): string {
  return execFileSync("git", ["config", "--get", name], {
    env: { PATH: process.env.PATH, ...env },
    encoding: "utf8",
  }).trim();
}

it("turns git's housekeeping off, and keeps existing settings", () => {
  const outside = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "core.abbrev", GIT_CONFIG_VALUE_0: "12" };
  const env = { ...outside, ...agentEnvironment(outside) };
  expect(setting(env, "gc.auto")).toBe("0");
  expect(setting(env, "maintenance.auto")).toBe("false");
  expect(setting(env, "core.abbrev")).toBe("12");
  expect(setting(agentEnvironment({}), "gc.auto")).toBe("0");
});
