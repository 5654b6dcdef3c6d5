/** Agents that are turned away by a limit: the job waits by default and shows it, and the policy can say otherwise. */
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

  it("spends the attempt with on_outage: retry", async () => {
    const project = openProject(itemsJson({ id: "i1" }));
    const summary = await project.runJson(flow({ on_outage: "retry" }, inSeconds(1)));
    expect(summary).toMatchObject({ dead: 1 });
  });

  it("a limit without on_outage: wait is refused by validate", async () => {
    const project = openProject(itemsJson({ id: "i1" }));
    const { code, stdout, stderr } = await project.do(
      "validate",
      project.workflow(flow({ max_outage: "2h" }, "0")),
    );
    expect(code).toBe(2);
    expect(stdout + stderr).toContain("max_outage has no meaning without on_outage: wait");
  });
});
