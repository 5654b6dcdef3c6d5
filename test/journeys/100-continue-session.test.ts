/** Retries that continue the session of their agent, in the worktree that it has worked in. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import { itemsJson, mapOver, openProject, type Project } from "./project.ts";
import { SOUND } from "./workshop.ts";

const AGENT = fileURLToPath(new URL("../support/session-agent.mjs", import.meta.url));

interface AgentCall {
  readonly args: readonly string[];
  readonly prompt: string;
  readonly id: string | null;
  readonly cwd: string;
}

function openSessions(): { project: Project; sessions: string; calls: () => AgentCall[] } {
  const project = openProject(itemsJson("a"));
  const sessions = project.path("sessions");
  mkdirSync(sessions);
  mkdirSync(project.path("bin"));
  for (const name of ["claude", "own"])
    writeFileSync(project.path(`bin/${name}`), `#!/bin/sh\nexec ${process.execPath} ${AGENT} "$@"\n`, {
      mode: 0o755,
    });
  return { project, sessions, calls: () => project.ledger.map((line) => JSON.parse(line) as AgentCall) };
}

/** The agent must run twice until its work is right. */
const CHECK = { shell: "test $(wc -l < work.txt) = 2 || { echo only one line >&2; exit 4; }" };

function workflow(sessions: string, attempts: number, agent: object = { claude: "Write about ${item.id}." }) {
  return {
    env: { SESSIONS: sessions },
    map: mapOver([{ ...agent, continue_session: true }, CHECK]),
    error_policy: { retry_config: { max_attempts: attempts, initial_delay: "1ms" } },
  };
}

const inspect = (project: Project) =>
  project.json<{
    worktree_artifacts: { worktree_path: string };
    usage: { cost_usd: number };
    agent_runs: readonly { session: string; open_command: string }[];
  }>("dlq", "inspect", "a");

describe("continue_session", () => {
  it("continues the session in a retry, with the failure as the message, and pays for it once", async () => {
    const { project, sessions, calls } = openSessions();
    const summary = await project.runJson(workflow(sessions, 2));
    expect(summary).toMatchObject({ succeeded: 1, usage: { cost_usd: 0.5, turns: 2 } });
    const [first, second] = calls();
    expect(first?.prompt).toBe("Write about a.");
    expect(second?.args.slice(-2)).toEqual(["--resume", first?.id]);
    expect([second?.id, second?.cwd]).toEqual([first?.id, first?.cwd]);
    expect(second?.prompt).toContain("only one line");
    expect(second?.prompt).not.toContain("Write about");
    expect(project.get("work.txt")).toBe("run 1\nrun 2\n");
    expect(await project.worktrees()).toEqual([]);
  });

  it("without it, the retry starts afresh in a clean worktree", async () => {
    const { project, sessions, calls } = openSessions();
    const given = workflow(sessions, 2);
    const [agent] = given.map.agent_template as readonly object[];
    const map = { ...given.map, agent_template: [{ ...agent, continue_session: false }, CHECK] };
    expect(await project.runJson({ ...given, map })).toMatchObject({ dead: 1 });
    expect(calls().map(({ prompt }) => prompt)).toEqual(["Write about a.", "Write about a."]);
  });

  it("continues in dlq retry, and the letter has the command that opens the session", async () => {
    const { project, sessions, calls } = openSessions();
    await project.runJson(workflow(sessions, 1));
    const [first] = calls();
    const letter = await inspect(project);
    const command = `cd ${letter.worktree_artifacts.worktree_path} && claude --resume ${first?.id}`;
    expect(letter.agent_runs[0]?.open_command).toBe(`claude --resume ${first?.id}`);
    expect((await project.do("dlq", "inspect", "a")).stdout).toContain(command);
    const retried = await project.do("dlq", "retry", "--json");
    expect(retried.json()).toMatchObject({ succeeded: 1 });
    expect(calls()[1]).toMatchObject({ id: first?.id, cwd: first?.cwd });
    expect(calls()[1]?.prompt).toContain("The last attempt failed in");
    expect(project.get("work.txt")).toBe("run 1\nrun 2\n");
    expect(await project.check()).toBe(SOUND);
  });

  it("starts afresh and says so if the agent does not know the session any more", async () => {
    const { project, sessions, calls } = openSessions();
    await project.runJson(workflow(sessions, 1));
    const lost = calls()[0]?.id;
    for (const name of readdirSync(sessions)) rmSync(`${sessions}/${name}`);
    expect((await project.do("dlq", "retry")).code).toBe(0);
    expect(calls().map(({ id }) => id === null)).toEqual([false, true, false]);
    expect(calls()[2]?.prompt).toBe("Write about a.");
    const { stdout } = await project.do("logs", "workflow", "a");
    expect(stdout).toContain(`the session ${lost} could not be continued, so the agent starts a new one`);
  });

  it("starts afresh and says so if the worktree is gone", async () => {
    const { project, sessions, calls } = openSessions();
    await project.runJson(workflow(sessions, 1));
    rmSync((await inspect(project)).worktree_artifacts.worktree_path, { recursive: true });
    expect((await project.do("dlq", "retry")).code).toBe(3);
    expect(calls().map(({ prompt }) => prompt)).toEqual(["Write about a.", "Write about a."]);
    const { stdout } = await project.do("dlq", "inspect", "a");
    expect(stdout).toContain(`the session ${calls()[0]?.id} could not be continued`);
  });

  it("continues after a kill of the runner, with what the agent had done", async () => {
    const { project, sessions, calls } = openSessions();
    writeFileSync(`${sessions}/hang`, "");
    const running = project.startWorkflow(workflow(sessions, 2), ["-q"]);
    await until("the agent has begun", () => existsSync(project.path("ledger")) && calls().length === 1);
    running.signal("SIGKILL");
    await running.ended;
    rmSync(`${sessions}/hang`);
    expect((await project.do("resume", "-q")).code).toBe(0);
    const [first, second] = calls();
    expect(second).toMatchObject({ id: first?.id, cwd: first?.cwd });
    expect(second?.prompt).toContain("interrupted");
    expect(project.get("work.txt")).toBe("run 1\nrun 2\n");
    expect(await project.worktrees()).toEqual([]);
  });

  it("continues any agent by its resume command", async () => {
    const { project, sessions, calls } = openSessions();
    const resume = ["own", "--report", "--go-on", "${agent.session}"];
    const agent = { agent: { command: ["own", "--report"], resume, prompt: "Write." } };
    expect(await project.runJson(workflow(sessions, 2, agent))).toMatchObject({ succeeded: 1 });
    const [first, second] = calls();
    expect(second?.args).toEqual(["--report", "--go-on", first?.id]);
  });

  it("continues in the retries of a step too", async () => {
    const { project, sessions, calls } = openSessions();
    const agent = { claude: "Write.", continue_session: true, retry: { attempts: 2, initial_delay: "1ms" } };
    const validate = {
      shell: "test $(wc -l < work.txt) = 2 && echo '{\"score\": 100}' || echo '{\"score\": 10}'",
    };
    const given = workflow(sessions, 1);
    const map = mapOver([{ ...agent, validate }]);
    expect(await project.runJson({ ...given, map })).toMatchObject({
      succeeded: 1,
      usage: { cost_usd: 0.5 },
    });
    expect(calls()[1]?.args.slice(-2)).toEqual(["--resume", calls()[0]?.id]);
    expect(calls()[1]?.prompt).toContain("The last attempt failed in");
  });
});
