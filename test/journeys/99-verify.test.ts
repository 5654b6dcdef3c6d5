/** The combined work of items is verified: an item is done only if the state with its work passes. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import { itemsJson, lines, mapOver, ONE_TRY, openProject, type Project } from "./project.ts";
import { SOUND } from "./workshop.ts";

/** Each item writes a file of its own, notes that it ran, and captures its name. */
const WORK = [
  { shell: "echo $REDRIVE_ATTEMPT >> $L.${item.id}; echo ${item.id} > ${item.id}.txt", capture: "none" },
  { shell: "echo the note of ${item.id}", capture: "note" },
];
/** The state with the work of "bad" does not build, unless the file `mended` is there. */
const BUILD =
  "echo \"$REDRIVE_VERIFY_ITEMS $(git rev-parse $REDRIVE_VERIFY_BASE)\" >> $L; if [ -e bad.txt ] && [ ! -e $L.mended ]; then echo 'error: bad.txt does not build' >&2; exit 4; fi";

const workflow = (rest: object = {}) => ({
  name: "verified",
  map: { ...mapOver(WORK), max_parallel: 4 },
  verify: [{ shell: BUILD }],
  error_policy: ONE_TRY,
  ...rest,
});

/** The items of each run of the steps, in order. */
const runsIn = (project: Project) =>
  project.ledger.map((line) => JSON.parse(line.replace(/ \w+$/, "")) as readonly string[]);
const triesOf = (project: Project, id: string) =>
  existsSync(`${project.ledgerPath}.${id}`) ? readFileSync(`${project.ledgerPath}.${id}`, "utf8") : "";

describe("an item that breaks the combined state", () => {
  it("becomes a letter with the output of the run and its worktree, and the others are merged", async () => {
    const project = openProject(itemsJson("a", "bad", "c", "d", "e"));
    const summary = await project.runJson(workflow());
    expect(summary).toMatchObject({ status: "completed", succeeded: 4, dead: 1 });
    expect(["a", "bad", "c", "d", "e"].map((id) => project.get(`${id}.txt`))).toEqual([
      "a\n",
      "",
      "c\n",
      "d\n",
      "e\n",
    ]);
    const letter = await project.onlyLetter();
    const [failure] = letter.failure_history;
    expect(letter.item_id).toBe("bad");
    expect(failure).toMatchObject({
      error_type: "VerifyFailed",
      exit_code: 4,
      stderr_tail: "error: bad.txt does not build\n",
      step_failed: expect.stringMatching(/^verify: shell: /),
    });
    expect(failure?.error_message).toContain("error: bad.txt does not build");
    const { worktree_path: path = "", branch_name: branch = "" } = letter.worktree_artifacts ?? {};
    expect(readFileSync(`${path}/bad.txt`, "utf8")).toBe("bad\n");
    expect(project.git("show", `${branch}:bad.txt`)).toBe("bad");
    const log = (await project.do("logs", summary.job_id, "bad")).stdout;
    expect(log).toContain("the note of bad");
    expect(log).toContain("error: bad.txt does not build");
    expect((await project.do("logs", summary.job_id, "verify")).stdout).toMatch(
      /^== verify \w{12}: the job's branch ==/,
    );
    const events = await project.events("--type", "verify_passed,verify_failed");
    expect(events.map(({ data }) => data?.items)).toEqual(runsIn(project).map((ids) => ids.length));
    expect(
      events
        .filter(({ type }) => type === "verify_failed")
        .every(({ data }) => String(data?.item_ids).includes("bad")),
    ).toBe(true);
    expect(await project.check()).toBe(SOUND);
  });

  it("is retried on the new tip, verified again and merged", async () => {
    const project = openProject(itemsJson("a", "bad"));
    const { job_id: job } = await project.runJson(workflow());
    expect((await project.do("dlq", "retry", job)).code).toBe(3);
    expect((await project.onlyLetter()).failure_history).toHaveLength(2);
    project.write("ledger.mended", "");
    const before = runsIn(project).length;
    expect((await project.do("dlq", "retry", job)).code).toBe(0);
    expect(runsIn(project).slice(before)).toEqual([["bad"]]);
    expect([project.get("bad.txt"), triesOf(project, "bad")]).toEqual(["bad\n", "1\n2\n3\n"]);
    expect(await project.worktrees()).toEqual([]);
  });

  it("is retried as the policy says", async () => {
    const project = openProject(itemsJson("bad"));
    const error_policy = { retry_config: { max_attempts: 2, initial_delay: "1ms" } };
    await project.runJson(workflow({ error_policy }));
    expect(triesOf(project, "bad")).toBe("1\n2\n");
    expect((await project.onlyLetter()).failure_count).toBe(2);
  });

  it("may do so by making the steps hang", async () => {
    const project = openProject(itemsJson("a", "hang"));
    const verify = { steps: [{ shell: "test ! -e hang.txt || sleep 300" }], timeout: "2s" };
    const summary = await project.runJson(workflow({ verify }));
    expect(summary).toMatchObject({ succeeded: 1, dead: 1 });
    const [failure] = (await project.onlyLetter()).failure_history;
    expect(failure).toMatchObject({ error_type: "VerifyFailed" });
    expect(failure?.error_message).toMatch(/verify failed: verify timed out after 2/);
  });
});

describe("the steps of verify", () => {
  it("run before the first item; if they fail, nothing else runs and the job can be resumed", async () => {
    const project = openProject(itemsJson("a", "b"));
    const verify = [
      {
        shell: `echo '[] x' >> $L; test -e ${project.home}/env-is-set || { echo 'no compiler' >&2; exit 9; }`,
      },
    ];
    const result = await project.runWorkflow(workflow({ verify }));
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("verify fails before any item has run");
    expect(result.stderr).toContain("no compiler");
    expect([triesOf(project, "a"), runsIn(project).length]).toEqual(["", 1]);
    project.write("env-is-set", "");
    expect((await project.do("resume")).code).toBe(0);
    expect(project.get("a.txt")).toBe("a\n");
  });

  it("stop the job if they fail on the branch itself later, and no item is blamed", async () => {
    const project = openProject(itemsJson("a", "b"));
    const fails = { shell: `test $REDRIVE_ATTEMPT != 1 || exit 3` };
    const verify = [{ shell: `test ! -e ${project.home}/env-is-gone` }];
    const map = { ...mapOver([...WORK, fails]), max_parallel: 2 };
    const { job_id: job } = await project.runJson(workflow({ verify, map }));
    project.write("env-is-gone", "");
    const retry = await project.do("dlq", "retry", job);
    expect([retry.code, retry.stdout + retry.stderr]).toEqual([
      1,
      expect.stringContaining("verify fails on the job's branch"),
    ]);
    const failures = (await project.agentLetters()).map(({ failure_history: all }) => all.length);
    expect(failures).toEqual([1, 1]);
  });

  it("stop the job if they cannot run, and the work waits for the resume", async () => {
    const project = openProject(itemsJson("a", "b"));
    const outage = `echo '{"class": "outage", "message": "the registry is down"}' > $REDRIVE_FAILURE_FILE; exit 1`;
    const shell = `[ "$REDRIVE_VERIFY_ITEMS" = "[]" ] || [ -e $L.mended ] || { ${outage}; }`;
    const result = await project.runWorkflow(workflow({ verify: [{ shell }] }));
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining("verify cannot run: ")]);
    expect(result.stderr).toContain("the registry is down");
    expect(await project.letters()).toEqual([]);
    project.write("ledger.mended", "");
    expect((await project.do("resume")).code).toBe(0);
    expect(["a", "b"].map((id) => [triesOf(project, id), project.get(`${id}.txt`)])).toEqual([
      ["1\n", "a\n"],
      ["1\n", "b\n"],
    ]);
  });

  it("run in a clean checkout, with the ids of the new items and the tip below them", async () => {
    const project = openProject(itemsJson("a"));
    const seen = "git status --porcelain --ignored > $L.status; ls > $L.files; touch left-over";
    await project.runJson(workflow({ verify: [{ shell: BUILD }, { shell: seen }] }));
    expect(project.lines("ledger.status")).toEqual([]);
    expect(project.lines("ledger.files")).toContain("a.txt");
    const first = project.git("rev-parse", "HEAD^1");
    expect(project.ledger).toEqual([`[] ${first}`, `["a"] ${first}`]);
  });

  it("run for a batch of items if they are to wait for more, and for the rest when no other item runs", async () => {
    const project = openProject(itemsJson("a", "b", "c"));
    const verify = { steps: [{ shell: BUILD }], batch: 3 };
    const last = "test ${item.id} != c || while [ ! -e $L.a ] || [ ! -e $L.b ]; do sleep 0.02; done";
    const map = { ...mapOver([...WORK, { shell: last }]), max_parallel: 3 };
    expect(await project.runJson(workflow({ verify, map }))).toMatchObject({ succeeded: 3 });
    expect(runsIn(project).map((ids) => [...ids].sort())).toEqual([[], ["a", "b", "c"]]);
    const few = openProject(itemsJson("a", "b"));
    expect(await few.runJson(workflow({ verify }))).toMatchObject({ succeeded: 2 });
  });

  it("are not run for items without changes", async () => {
    const project = openProject(itemsJson("a", "b"));
    const map = mapOver([{ shell: "true" }]);
    expect(await project.runJson(workflow({ map }))).toMatchObject({ succeeded: 2 });
    expect(runsIn(project)).toEqual([[]]);
  });
});

describe("work that waits", () => {
  /** The steps wait for a gate, except before the first item. */
  const GATED = `${BUILD}; echo $$ > $L.pid; [ "$REDRIVE_VERIFY_ITEMS" = "[]" ] || while [ ! -e $L.gate ]; do sleep 0.02; done`;
  const gated = workflow({ verify: [{ shell: GATED }], map: { ...mapOver(WORK), max_parallel: 1 } });
  const ids = ["a", "b", "c"];
  const allTried = (project: Project) => ids.every((id) => triesOf(project, id) !== "");
  type Status = { readonly succeeded: number; readonly remaining: number };

  it("is not done yet, and leaves its slot to the next item", async () => {
    const project = openProject(itemsJson(...ids));
    const running = project.startWorkflow(gated, ["-q"]);
    await until("all items wait", () => allTried(project));
    const before = project.userSide;
    expect((await project.do("status", "--json")).json<Status>()).toMatchObject({
      succeeded: 0,
      remaining: 3,
    });
    await until(
      "their worktrees wait",
      async () => (await project.worktrees()).filter(({ state }) => state === "waiting").length === 3,
    );
    project.write("ledger.gate", "");
    expect((await running.ended).code).toBe(0);
    expect(project.userSide).not.toEqual(before);
    expect(ids.map((id) => triesOf(project, id))).toEqual(["1\n", "1\n", "1\n"]);
  });

  it.each(["SIGKILL", "SIGINT"] as const)(
    "is verified and merged after %s, without doing it again",
    async (signal) => {
      const project = openProject(itemsJson(...ids));
      const merge = [
        { write_file: { path: "results.json", content: "${map.results}" } },
        { shell: "cp results.json $L.results; rm results.json" },
      ];
      const running = project.startWorkflow({ ...gated, merge }, ["-q"]);
      await until(
        "all items wait",
        async () => (await project.worktrees()).filter(({ state }) => state === "waiting").length === 3,
      );
      running.signal(signal);
      await running.ended;
      const status = await project.do("status", "--json");
      expect(status.json<Status>()).toMatchObject({ succeeded: 0, remaining: 3 });
      project.write("ledger.gate", "");
      expect((await project.do("resume")).code).toBe(0);
      expect(ids.map((id) => [triesOf(project, id), project.get(`${id}.txt`)])).toEqual(
        ids.map((id) => ["1\n", `${id}\n`]),
      );
      const results = JSON.parse(project.read("ledger.results")) as readonly {
        result: { note: string; commit: string };
      }[];
      expect(results.map(({ result }) => result.note).sort()).toEqual(ids.map((id) => `the note of ${id}`));
      const merges = lines(project.git("log", "--merges", "--format=%s", "HEAD^2")).filter((line) =>
        line.startsWith("redrive:"),
      );
      expect(merges.sort()).toEqual(ids.map((id) => `redrive: ${id}`));
      expect(await project.worktrees()).toEqual([]);
      expect(await project.check()).toBe(SOUND);
    },
  );

  it("leaves the batch when its item is stopped, and joins again when it is continued", async () => {
    const project = openProject(itemsJson(...ids));
    const running = project.startWorkflow(gated, ["-q"]);
    await until(
      "all items wait",
      async () => (await project.worktrees()).filter(({ state }) => state === "waiting").length === 3,
    );
    expect((await project.do("stop", "verified", "b", "--json")).json()).toMatchObject({ state: "held" });
    expect((await project.do("continue", "verified", "b")).code).toBe(0);
    project.write("ledger.gate", "");
    expect((await running.ended).code).toBe(0);
    expect(ids.map((id) => [triesOf(project, id), project.get(`${id}.txt`)])).toEqual(
      ids.map((id) => ["1\n", `${id}\n`]),
    );
  });
});
