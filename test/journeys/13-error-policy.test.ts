/** The error_policy of a workflow: a run for each of its options. */
import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  itemsJson,
  mapOver,
  openFolder,
  openProject,
  type Project,
  plainMap,
  type WorkflowYaml,
} from "./project.ts";
import { SOUND, type Summary, upTo } from "./workshop.ts";

const AT_ONCE = { backoff: "fixed", initial_delay: "1ms" };
const ONE_BY_ONE = { max_parallel: 1 };
const attempts = (max_attempts: number) => ({ max_attempts, ...AT_ONCE });
const numbers = (count: number) => itemsJson(...upTo(count).map((n) => ({ id: `n${n}`, n })));

/** One item after the other, each written to the ledger. */
function policyFlow(shell: string, error_policy: WorkflowYaml, map: WorkflowYaml = ONE_BY_ONE): WorkflowYaml {
  return { map: plainMap(`echo \${item.id} >> $L; ${shell}`, map), error_policy };
}

const summaryOf = (project: Project, job: Summary) => project.json<Summary>("status", job.job_id);

describe("retry_config", () => {
  it.each([1, 2, 5])("max_attempts %i means that many tries, including the first", async (count) => {
    const project = openFolder(numbers(1));
    const summary = await project.runJson(policyFlow("false", { retry_config: attempts(count) }));
    expect(summary).toMatchObject({ dead: 1, attempts: count });
    expect(project.ledger).toHaveLength(count);
    const letter = await project.onlyLetter();
    expect(letter.failure_history.map(({ attempt_number }) => attempt_number)).toEqual(upTo(count));
    expect(letter.reason).toBe(`out of retries (${count} of ${count} attempts used)`);
  });

  it("is 3 attempts by default, and `retry` of the workflow is its default", async () => {
    const project = openFolder(numbers(1));
    const workflow = policyFlow("false", {});
    expect(await project.runJson({ ...workflow, retry: { ...AT_ONCE } })).toMatchObject({ attempts: 3 });
    expect(await project.runJson({ ...workflow, retry: { attempts: 2, ...AT_ONCE } })).toMatchObject({
      attempts: 2,
    });
  });

  it.each<[string, WorkflowYaml, number[]]>([
    [
      "exponential",
      { backoff: "exponential", initial_delay: "4ms", max_delay: "10ms", jitter: false },
      [4, 8, 10],
    ],
    [
      "exponential with a factor",
      { backoff: { type: "exponential", initial_delay: "2ms", factor: 3, jitter: false } },
      [2, 6, 18],
    ],
    ["linear", { backoff: "linear", initial_delay: "5ms", jitter: false }, [5, 10, 15]],
    ["fibonacci", { backoff: "fibonacci", initial_delay: "3ms", jitter: false }, [3, 3, 6]],
    ["fixed", { backoff: "fixed", initial_delay: "7ms" }, [7, 7, 7]],
    ["a list", { delays: ["2ms", "9ms"] }, [2, 9, 9]],
  ])("backoff %s waits as it says", async (_, backoff, delays) => {
    const project = openFolder(numbers(1));
    await project.runJson(policyFlow("false", { retry_config: { max_attempts: 4, ...backoff } }));
    const events = await project.events("--type", "attempt_retrying");
    expect(events.map(({ data }) => data?.delay_ms)).toEqual(delays);
  });

  it("pitfall 6: a second failure does not overwrite the first", async () => {
    const project = openFolder(numbers(1));
    const shell = 'echo "failure $REDRIVE_ATTEMPT" >&2; exit $((10 + REDRIVE_ATTEMPT))';
    await project.runJson(policyFlow(shell, { retry_config: attempts(3) }));
    const { failure_history: history } = await project.onlyLetter();
    expect(history.map(({ exit_code }) => exit_code)).toEqual([11, 12, 13]);
    expect(history.map(({ stderr_tail }) => stderr_tail)).toEqual([
      "failure 1\n",
      "failure 2\n",
      "failure 3\n",
    ]);
  });

  it("each attempt in a worktree starts from a clean one", async () => {
    const project = openProject(numbers(1));
    const shell =
      "ls >> $L; touch rubbish; git add rubbish; git commit -qm rubbish; touch more; [ $REDRIVE_ATTEMPT = 3 ]";
    const summary = await project.runJson({
      map: mapOver(shell),
      error_policy: { retry_config: attempts(3) },
    });
    expect(summary).toMatchObject({ succeeded: 1, attempts: 3 });
    expect(project.ledger).toEqual(upTo(3).flatMap(() => ["README.md", "items.json"]));
    expect(project.subjects().filter((subject) => subject === "rubbish")).toHaveLength(1);
    expect((await project.worktrees()).filter(({ state }) => state === "kept")).toEqual([]);
  });
});

describe("on_item_failure", () => {
  const FAIL_TWO = "[ ${item.n} != 2 ]";

  it("dlq keeps the item as a letter, and the others continue", async () => {
    const project = openFolder(numbers(3));
    const policy = { on_item_failure: "dlq", retry_config: attempts(1) };
    const result = await project.runWorkflow(policyFlow(FAIL_TWO, policy));
    expect(result.code).toBe(3);
    expect(project.ledger).toEqual(["n1", "n2", "n3"]);
    expect((await project.onlyLetter()).item_id).toBe("n2");
  });

  it("retry tries again at once, whatever the backoff, and ends as a letter", async () => {
    const project = openFolder(numbers(1));
    const retry_config = { max_attempts: 3, backoff: "fixed", initial_delay: "1h" };
    const summary = await project.runJson(policyFlow("false", { on_item_failure: "retry", retry_config }));
    expect(summary).toMatchObject({ dead: 1, attempts: 3 });
  });

  it("skip leaves no letter, and reduce gets the number", async () => {
    const project = openFolder(numbers(3));
    const workflow = policyFlow(FAIL_TWO, { on_item_failure: "skip", retry_config: attempts(1) });
    const reduce = [{ shell: "echo ${map.successful} ${map.failed} ${map.skipped} >> $L" }];
    const result = await project.runWorkflow({ ...workflow, reduce }, ["--json"]);
    expect(result.code).toBe(0);
    expect(result.json<Summary>()).toMatchObject({ succeeded: 2, dead: 0, skipped: 1 });
    expect(project.ledger.at(-1)).toBe("2 0 1");
    expect(await project.letters()).toEqual([]);
  });

  it("stop ends the job, untouched items stay ready, and reduce does not run", async () => {
    const project = openFolder(numbers(4));
    const workflow = policyFlow(FAIL_TWO, { on_item_failure: "stop", retry_config: attempts(1) });
    const result = await project.runWorkflow({ ...workflow, reduce: [{ shell: "echo reduce >> $L" }] }, [
      "--json",
    ]);
    expect(result.code).toBe(1);
    expect(result.json<Summary>()).toMatchObject({ status: "stopped", succeeded: 1, dead: 1, remaining: 2 });
    expect(project.ledger).toEqual(["n1", "n2"]);
    expect(await project.check()).toBe(SOUND);
  });

  describe("custom", () => {
    const custom = (shell: string, tries = 1) => ({
      on_item_failure: { custom: [{ shell }] },
      retry_config: attempts(tries),
    });

    it("gets the failure; success means handled, and no letter is left", async () => {
      const project = openFolder(numbers(1));
      const shell = "echo ${item.id} ${error.exit_code} ${error.type} ${item.n} >> $L";
      const result = await project.runWorkflow(policyFlow("exit 9", custom(shell)), ["--json"]);
      expect(result.code).toBe(0);
      expect(result.json<Summary>()).toMatchObject({ skipped: 1, dead: 0 });
      expect(project.ledger).toEqual(["n1", "n1 9 CommandFailed 1"]);
    });

    it("exit code 75 means one more attempt", async () => {
      const project = openFolder(numbers(1));
      const handler = "echo handler >> $L; touch mended; exit 75";
      const summary = await project.runJson(policyFlow("test -e mended", custom(handler)));
      expect(summary).toMatchObject({ succeeded: 1, attempts: 2, dead: 0 });
      expect(project.ledger).toEqual(["n1", "handler", "n1"]);
    });

    it("any other failure means a letter, and it is called only when the attempts are used up", async () => {
      const project = openFolder(numbers(1));
      const summary = await project.runJson(policyFlow("false", custom("echo handler >> $L; exit 1", 2)));
      expect(summary).toMatchObject({ dead: 1, attempts: 2 });
      expect(project.ledger).toEqual(["n1", "n1", "handler"]);
    });
  });
});

describe("thresholds", () => {
  it("continue_on_failure: false stops at the first dead item", async () => {
    const project = openFolder(numbers(5));
    const policy = { continue_on_failure: false, retry_config: attempts(1) };
    const result = await project.runWorkflow(policyFlow("[ ${item.n} != 2 ]", policy), ["--json"]);
    expect(result.code).toBe(1);
    expect(result.json<Summary>()).toMatchObject({ status: "stopped", succeeded: 1, dead: 1, remaining: 3 });
  });

  it("max_failures stops when that many have died; untouched items continue with resume", async () => {
    const project = openFolder(numbers(6));
    const shell = "test -e mended";
    const stopped = await project.runJson(policyFlow(shell, { max_failures: 2, retry_config: attempts(1) }));
    expect(stopped).toMatchObject({ status: "stopped", dead: 2, remaining: 4, attempts: 2 });
    project.put("mended", "");
    expect((await project.do("resume")).code).toBe(0);
    expect(await summaryOf(project, stopped)).toMatchObject({
      status: "completed",
      succeeded: 6,
      attempts: 8,
    });
  });

  it("failure_threshold stops by the share of dead items, from ten finished on", async () => {
    const project = openFolder(numbers(14));
    const policy = { failure_threshold: 0.3, retry_config: attempts(1) };
    const result = await project.runWorkflow(policyFlow("[ $(expr ${item.n} % 2) = 1 ]", policy));
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("5 of 10 finished items died, and failure_threshold is 0.3");
    expect(result.stderr).toContain("4 remain");
  });

  it("failure_threshold continues a job that stays below it", async () => {
    const project = openFolder(numbers(14));
    const policy = { failure_threshold: 0.5, retry_config: attempts(1) };
    const result = await project.runWorkflow(policyFlow("[ $(expr ${item.n} % 2) = 1 ]", policy), ["--json"]);
    expect(result.json<Summary>()).toMatchObject({ status: "completed", succeeded: 7, dead: 7 });
  });
});

describe("circuit_breaker", () => {
  const calling = "test ! -e down || { echo connection refused >&2; exit 1; }";

  it("pauses in an outage: untouched items stay ready and nothing dies", async () => {
    const project = openFolder({ ...numbers(20), down: "" });
    const circuit_breaker = { failure_threshold: 3, timeout: "1h" };
    const running = project.startWorkflow(
      policyFlow(calling, { circuit_breaker, retry_config: attempts(9) }),
    );
    await project.untilLedger("three were tried", (lines) => lines.length >= 3);
    const [job] = (await project.json<{ jobs: Summary[] }>("jobs")).jobs;
    expect(job).toMatchObject({ status: "running", dead: 0, remaining: 20 });
    running.signal("SIGINT");
    expect((await running.ended).code).toBe(130);
    expect(project.ledger).toHaveLength(3);
    expect(await project.json("jobs")).toMatchObject({ jobs: [{ dead: 0, remaining: 20, attempts: 3 }] });
  });

  it("sends half_open_requests probes after its timeout and closes after success_threshold", async () => {
    const project = openFolder({ ...numbers(12), down: "" });
    const circuit_breaker = {
      failure_threshold: 2,
      timeout: "100ms",
      half_open_requests: 1,
      success_threshold: 1,
    };
    const policy = { circuit_breaker, retry_config: attempts(100) };
    const running = project.startWorkflow(policyFlow(calling, policy, { max_parallel: 4 }), ["--json"]);
    await project.untilLedger("probes were sent", (lines) => lines.length >= 7);
    rmSync(`${project.top}/down`);
    expect((await running.ended).json<Summary>()).toMatchObject({ succeeded: 12, dead: 0 });
    const types = (await project.events("--type", "breaker_opened,breaker_closed")).map(({ type }) => type);
    expect(types[0]).toBe("breaker_opened");
    expect(types.at(-1)).toBe("breaker_closed");
  });
});
