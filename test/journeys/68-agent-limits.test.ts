/** Agents that are throttled: the job waits by default and shows it, and the policy can change that. */
import { describe, expect, it } from "vitest";
import { itemsJson, mapOver, ONE_TRY, openProject } from "./project.ts";

const CLAUDE = {
  claude: "work on ${item.id}",
  env: { FAKE_AGENT: "rate-limit", RESETS_AT: "${env.RESETS_AT}" },
};
const inSeconds = (seconds: number) => String(Math.ceil(Date.now() / 1000) + seconds);
const flow = (policy: object, resetsAt: string) => ({
  env: { RESETS_AT: resetsAt },
  map: mapOver([CLAUDE]),
  error_policy: { ...ONE_TRY, ...policy },
});

describe("an agent whose usage limit is reached", () => {
  it("waits until the known reset time, and the progress line shows the reason and the next try", async () => {
    const project = openProject(itemsJson({ id: "i1" }, { id: "i2" }));
    const running = project.startWorkflow(flow({}, inSeconds(4 * 3600)));
    await running.untilStderr(/waiting: next try in [34] ?h[^(]*\(You've hit your limit/);
    running.signal("SIGINT");
    await running.ended;
    expect(await project.letters()).toEqual([]);
  });

  it("counts the attempt with on_outage: retry", async () => {
    const project = openProject(itemsJson({ id: "i1" }));
    const summary = await project.runJson(flow({ on_outage: "retry" }, inSeconds(1)));
    expect(summary).toMatchObject({ dead: 1 });
  });

  it("refuses a limit without on_outage: wait in validate", async () => {
    const project = openProject(itemsJson({ id: "i1" }));
    const { code, stdout, stderr } = await project.do(
      "validate",
      project.workflow(flow({ max_outage: "2h" }, "0")),
    );
    expect(code).toBe(2);
    expect(stdout + stderr).toContain("max_outage has no effect without on_outage: wait");
  });
});

describe.each(["setup", "reduce", "merge"])("an agent of %s that is turned away", (phase) => {
  const phaseFlow = (agent: string, policy: object, env: object = {}) => ({
    env,
    map: mapOver("echo ${item.id}"),
    [phase]: [
      { shell: "echo before >> $L" },
      {
        claude: "work",
        env: { FAKE_AGENT: agent, OVERLOADS: "${env.OVERLOADS}", RESETS_AT: "${env.RESETS_AT:-0}" },
      },
      { shell: "echo after >> $L" },
    ],
    error_policy: { retry_config: { max_attempts: 1, backoff: "fixed", initial_delay: "1s" }, ...policy },
  });

  it("waits through overload, shows it, and continues at its step", async () => {
    const project = openProject(itemsJson({ id: "i1" }));
    const env = { OVERLOADS: project.path("overloads") };
    const { code, stderr } = await project.runWorkflow(phaseFlow("overloaded-times:2", {}, env));
    expect([code, project.ledger, project.read("overloads")]).toEqual([0, ["before", "after"], "2"]);
    expect(stderr).toMatch(/waiting: next try in 1\.?\d* ?s \(Overloaded: try again later/);
  });

  it("waits until the known reset time of a usage limit; Ctrl-C interrupts the job", async () => {
    const project = openProject(itemsJson({ id: "i1" }));
    const env = { OVERLOADS: "-", RESETS_AT: inSeconds(4 * 3600) };
    const running = project.startWorkflow(phaseFlow("rate-limit", {}, env));
    await running.untilStderr(/waiting: next try in [34] ?h[^(]*\(You've hit your limit/);
    running.signal("SIGINT");
    expect((await running.ended).code).toBe(130);
    expect((await project.json<{ jobs: readonly object[] }>("jobs")).jobs).toMatchObject([
      { status: "interrupted" },
    ]);
  });

  it("fails at once with on_outage: retry", async () => {
    const project = openProject(itemsJson({ id: "i1" }));
    const env = { OVERLOADS: project.path("overloads") };
    const policy = { on_outage: "retry" };
    const { code, stderr } = await project.runWorkflow(phaseFlow("overloaded-times:1", policy, env));
    expect([code, project.ledger]).toEqual([1, ["before"]]);
    expect(stderr).toContain(`The ${phase} phase failed at step 2 of 3`);
  });
});

describe("a limit of the wait", () => {
  it("ends the wait of a phase: then it fails and can be resumed", async () => {
    const project = openProject(itemsJson({ id: "i1" }));
    const flow = {
      env: { OVERLOADS: project.path("overloads") },
      map: mapOver("echo ${item.id}"),
      reduce: [{ claude: "work", env: { FAKE_AGENT: "overloaded-times:2", OVERLOADS: "${env.OVERLOADS}" } }],
      error_policy: { ...ONE_TRY, on_outage: "wait", max_outage: "1ms" },
    };
    const { code, stderr } = await project.runWorkflow(flow);
    expect(code).toBe(1);
    expect(stderr).toContain("The reduce phase failed at step 1 of 1");
    expect((await project.do("resume")).code).toBe(0);
  });
});
