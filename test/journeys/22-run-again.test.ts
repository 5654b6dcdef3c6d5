/** Retries letters: the effect of every option, and that nothing is lost, repeated or invented. */
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import { itemsJson, mapOver, ONE_TRY, openFolder, openProject, plainMap } from "./project.ts";
import {
  asJsonLines,
  type ErrorJson,
  isAlive,
  type LetterJson,
  type OperationJson,
  openWorkshop,
  SOUND,
  upTo,
  type Workshop,
} from "./workshop.ts";

type Letter = LetterJson & { readonly poison?: boolean; readonly last_attempt: string };
type Preview = OperationJson & {
  readonly groups: readonly { signature: string; count: number; redriven: number }[];
  readonly refusals: readonly { reason: string; count: number }[];
};

const ONE = ["--retries", "0", "--name", "n"];

/** Writes the item into the ledger, and fails until it is mended. */
const untilMended = (shop: Workshop) => `echo "$1" >> $L; [ -e ${shop.path("mended")} ]`;

async function deadJob(shop: Workshop, items: readonly unknown[], flags = ONE): Promise<void> {
  await shop.map(items, untilMended(shop), flags);
}

const retry = (shop: Workshop, ...flags: string[]) => shop.run(["dlq", "retry", "n", "--json", ...flags]);

describe("the work that is run", () => {
  it("pitfall 1: is the item's own, and a letter leaves only when its work has succeeded", async () => {
    const shop = openWorkshop();
    const script = `[ -e ${shop.path("mended")} ] || exit 1; echo "made of $1" > ${shop.path("out")}-$1`;
    await shop.map(["a", "b"], script, ONE);
    shop.write("mended", "");
    expect((await retry(shop)).json<OperationJson>()).toMatchObject({ succeeded: 2, remaining: 0 });
    expect([shop.read("out-a"), shop.read("out-b")]).toEqual(["made of a\n", "made of b\n"]);
    expect(await shop.letters()).toEqual([]);
  });

  it("pitfall 51: is never that of done items", async () => {
    const shop = openWorkshop();
    const script = `echo "$1" >> $L; [ "$1" != bad ] || [ -e ${shop.path("mended")} ]`;
    await shop.map(["good", "bad", "fine"], script, ONE);
    shop.write("mended", "");
    await retry(shop);
    await retry(shop, "--force");
    expect([...shop.ledger].sort()).toEqual(["bad", "bad", "fine", "good"]);
  });

  it("pitfall 52: that fails again is a letter again, however often, with its whole history", async () => {
    const shop = openWorkshop();
    await deadJob(shop, ["a"]);
    for (const redrives of [1, 2, 3]) {
      expect((await retry(shop, "--force")).code).toBe(3);
      expect(await shop.letters()).toMatchObject([{ redrive_count: redrives, state: "dead" }]);
    }
    const [letter] = await shop.letters();
    expect(letter?.failure_history.map((failure) => failure.attempt_number)).toEqual([1, 2, 3, 4]);
  });

  it("pitfall 55: does not affect failures that arrive meanwhile", async () => {
    const shop = openWorkshop();
    const script = `echo "$1" >> $L; [ "$1" = old ] && [ -e ${shop.path("mended")} ] || exit 1; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done`;
    await shop.map(["old"], script, ONE);
    shop.write("mended", "");
    const running = shop.start(["dlq", "retry", "n", "--json"], { stdin: "" });
    await shop.untilLedger("the retry has begun", (lines) => lines.length === 2);
    const more = shop.start(shop.mapArgs(script, ONE), { stdin: asJsonLines(["new"]) });
    await until("the new failure is a letter", async () => (await shop.letters()).length === 2);
    shop.write("gate", "");
    expect((await running.ended).json<OperationJson>()).toMatchObject({ selected: 1, succeeded: 1 });
    await more.ended;
    expect(await shop.letters()).toMatchObject([{ item_data: "new", redrive_count: 0, failure_count: 1 }]);
  });
});

describe("dlq retry --max-retries, --rate, --delay", () => {
  it("--max-retries is the number of retries of each, whatever the job's setting", async () => {
    const shop = openWorkshop();
    await deadJob(shop, ["a"], ["--retries", "1", "--backoff", "none", "--name", "n"]);
    expect(shop.ledger).toHaveLength(2);
    await retry(shop, "--max-retries", "3");
    expect(shop.ledger).toHaveLength(6);
    await retry(shop, "--max-retries", "0", "--force");
    expect(shop.ledger).toHaveLength(7);
    const { code, stderr } = await shop.run(["dlq", "retry", "n", "--max-retries", "-1"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--retries")]);
  });

  it("--rate sends no more than that; stopped, the rest are letters as before, and the next command is printed", async () => {
    const shop = openWorkshop();
    await deadJob(shop, ["a", "b", "c"]);
    shop.write("mended", "");
    const running = shop.start(["dlq", "retry", "n", "--rate", "1/h"], { stdin: "" });
    await until("the first has succeeded", async () => (await shop.letters()).length === 2);
    expect((await shop.letters()).map(({ state }) => state)).toEqual(["dead", "dead"]);
    running.signal("SIGINT");
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(
      /3 letters of n-\w+: 1 succeeded, 0 failed again, 2 left .*redrive ops resume op-\w+/,
    );
    expect(shop.ledger).toHaveLength(4);
    const { code: refused, stderr } = await shop.run(["dlq", "retry", "n", "--rate", "fast"]);
    expect([refused, stderr]).toEqual([2, expect.stringContaining('--rate: "fast" is not a rate.')]);
  });

  it("--delay waits before the first, and a resume waits for the rest of it", async () => {
    const shop = openWorkshop();
    await deadJob(shop, ["a"]);
    shop.write("mended", "");
    for (const args of [
      ["dlq", "retry", "n", "--delay", "1h"],
      ["ops", "resume"],
    ]) {
      const running = shop.start(args, { stdin: "" });
      await running.untilStderr("Starting in ");
      running.signal("SIGINT");
      expect((await running.ended).code).toBe(130);
      expect(await shop.letters()).toMatchObject([{ state: "dead", redrive_count: 0 }]);
    }
    expect(shop.ledger).toHaveLength(1);
    await shop.run(["ops", "cancel", "op-"]);
    expect((await retry(shop, "--delay", "10ms")).json<OperationJson>()).toMatchObject({ succeeded: 1 });
  });

  it("a letter that failed again waits before it runs again, longer each time; --force does not wait", async () => {
    const shop = openWorkshop();
    await deadJob(shop, ["a"]);
    await retry(shop);
    await retry(shop);
    const died = (await shop.events("--type", "dlq_item_added")).map(({ at }) => Date.parse(at));
    const begun = (await shop.events("--type", "attempt_started")).map(({ at }) => Date.parse(at));
    expect((begun[2] ?? 0) - (died[1] ?? 0)).toBeGreaterThanOrEqual(1000);
    const detached = (await retry(shop, "--force", "--detach")).json<OperationJson>();
    expect(detached).toMatchObject({ redriven: 1, remaining: 1 });
    expect((await shop.run(["ops", "resume"])).code).toBe(3);
  });
});

describe("letters that need --force", () => {
  it("one that failed again in five redrives is poison: it is marked, refused, and retried with --force", async () => {
    const shop = openWorkshop();
    await deadJob(shop, ["a"]);
    for (const _ of upTo(5)) await retry(shop, "--force");
    const [letter] = (await shop.letters()) as readonly Letter[];
    expect(letter).toMatchObject({ poison: true, reprocess_eligible: false, manual_review_required: true });
    expect(letter?.reason).toContain("failed again after 5 redrives: poison");
    shop.write("mended", "");
    expect((await retry(shop)).json<OperationJson>()).toMatchObject({ refused: 1, redriven: 0 });
    const preview = (await retry(shop, "--dry-run")).json<Preview>();
    expect(preview.refusals).toEqual([{ reason: "poison: failed again after 5 redrives", count: 1 }]);
    expect((await shop.run(["resume", "n"])).code).toBe(3);
    expect((await retry(shop, "--force")).json<OperationJson>()).toMatchObject({ succeeded: 1 });
  });

  it("the number of redrives is set in redrive.yml", async () => {
    const shop = openWorkshop();
    shop.write("redrive.yml", "dlq:\n  poison_after: 1\n");
    await deadJob(shop, ["a"]);
    expect(((await shop.letters()) as readonly Letter[])[0]?.poison).toBeUndefined();
    await retry(shop);
    expect(await shop.letters()).toMatchObject([{ poison: true, redrive_count: 1 }]);
  });

  it("--dry-run counts each group, and lists what would be refused and why", async () => {
    const shop = openWorkshop();
    const script = 'case $1 in p*) echo "permission denied" >&2; exit 77;; *) echo broken >&2; exit 1;; esac';
    await shop.map(["a", "b", "c", "p"], script, ONE);
    const preview = (await retry(shop, "--dry-run")).json<Preview>();
    expect(preview).toMatchObject({ selected: 4, redriven: 3, refused: 1 });
    expect(preview.groups.map(({ count, redriven }) => [count, redriven])).toEqual([
      [3, 3],
      [1, 0],
    ]);
    expect(preview.refusals).toEqual([{ reason: "needs manual review (PermissionError)", count: 1 }]);
    const { stdout } = await shop.run(["dlq", "retry", "n", "--dry-run"]);
    expect(stdout).toMatch(/^Would retry 3 letters of n-\w+; 1 would be refused \(--force overrides\)/);
    expect(stdout).toContain("Refused:\n  1  needs manual review (PermissionError)\n");
    expect(stdout).toMatch(/3 +3 +[0-9a-f]{16} +broken +CommandFailed/);
    const forced = (await retry(shop, "--dry-run", "--force")).json<Preview>();
    expect(forced).toMatchObject({ redriven: 4, refused: 0, refusals: [] });
  });
});

describe("dlq retry of nothing", () => {
  it("is no error if there are no letters, and one if what was named does not exist", async () => {
    const shop = openWorkshop();
    const empty = await shop.run(["dlq", "retry"]);
    expect([empty.code, empty.stdout]).toEqual([0, "No letters.\n"]);
    expect((await shop.run(["dlq", "retry", "--json"])).json<OperationJson>()).toMatchObject({ selected: 0 });
    await shop.map(["a"], "true", ONE);
    const none = await shop.run(["dlq", "retry", "n"]);
    expect([none.code, none.stdout]).toEqual([0, expect.stringMatching(/^No letters of n-\w+ match\.\n$/)]);
    expect((await shop.run(["dlq", "retry", "nobody"])).code).toBe(4);
    expect((await shop.run(["dlq", "retry", "n", "nobody"])).code).toBe(4);
  });

  it("with an invalid filter runs nothing", async () => {
    const shop = openWorkshop();
    await deadJob(shop, ["a"]);
    const { code, json } = await retry(shop, "--filter", "item ==");
    expect([code, json<ErrorJson>().error.code]).toEqual([2, "filter_invalid"]);
    expect(shop.ledger).toHaveLength(1);
    expect(await shop.json("ops", "list")).toEqual({ operations: [] });
  });
});

describe("the selected letters", () => {
  it("--filter selects those for which the expression is true", async () => {
    const shop = openWorkshop();
    await deadJob(
      shop,
      upTo(6).map((size) => ({ size })),
    );
    const before = shop.ledger.length;
    const operation = (await retry(shop, "--filter", "item.size > 4")).json<OperationJson>();
    expect(operation).toMatchObject({ selected: 2, redriven: 2 });
    expect(shop.ledger.slice(before).sort()).toEqual(['{"size":5}', '{"size":6}']);
  });

  it("an item may be named without its job", async () => {
    const shop = openWorkshop();
    await shop.map([{ id: "x1" }, { id: "x2" }], untilMended(shop), [...ONE, "--id-field", "id"]);
    shop.write("mended", "");
    const operation = (await shop.run(["dlq", "retry", "x2", "--json"])).json<OperationJson>();
    expect(operation).toMatchObject({ selected: 1, succeeded: 1 });
    expect((await shop.letters()).map(({ item_id }) => item_id)).toEqual(["x1"]);
  });
});

describe("dlq retry --canary", () => {
  const script = (shop: Workshop) =>
    `echo "$1" >> $L; case $1 in a*) why=left;; *) why=right;; esac; [ -e ${shop.path("mended")}-$why ] || { echo "broken on the $why" >&2; exit 1; }`;
  const items = [...upTo(20).map((n) => `a${n}`), ...upTo(20).map((n) => `b${n}`)];

  it("stops when the same failure returns: it names the letter, exits 3, and the rest stay dead and untried", async () => {
    const shop = openWorkshop();
    await shop.map(items, script(shop), ONE);
    shop.write("mended-left", "");
    const { code, stdout, stderr } = await shop.run(["dlq", "retry", "n", "--canary"]);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^40 letters of n-\w+: 1 succeeded, 1 failed again, 38 refused\.\n$/);
    const returned = (await shop.letters()).find(({ redrive_count }) => redrive_count > 0);
    expect(returned?.item_data).toMatch(/^b/);
    expect(stderr).toContain(
      `The canary stopped: ${returned?.item_id} failed again with the same failure (group ${returned?.error_signature}).`,
    );
    expect(shop.ledger).toHaveLength(42);
    expect((await shop.letters()).filter(({ state }) => state === "dead")).toHaveLength(39);
    expect(await shop.check()).toBe(SOUND);
  });

  it("runs all its stages if nothing fails again", async () => {
    const shop = openWorkshop();
    await shop.map(items, script(shop), ONE);
    shop.write("mended-left", "");
    shop.write("mended-right", "");
    const { code, stderr, json } = await retry(shop, "--canary");
    expect(code).toBe(0);
    expect(json<OperationJson>()).toMatchObject({ selected: 40, succeeded: 40, refused: 0 });
    for (const text of ["stage 1, one of each group", "stage 2, 1 %", "stage 3, 10 %", "stage 4"])
      expect(stderr).toContain(text);
    expect(new Set(shop.ledger).size).toBe(40);
    expect(shop.ledger).toHaveLength(80);
  });

  it("of a given size retries that many, then all the rest", async () => {
    const shop = openWorkshop();
    await shop.map(items, script(shop), ONE);
    const stopped = await retry(shop, "--canary-size", "3");
    expect(stopped.code).toBe(3);
    expect(stopped.json<OperationJson>()).toMatchObject({ selected: 40, failed: 3, refused: 37 });
    shop.write("mended-left", "");
    shop.write("mended-right", "");
    const { code, stderr, json } = await retry(shop, "--canary-size", "3");
    expect(code).toBe(0);
    const { operation_id } = json<OperationJson>();
    expect(stderr).toContain("stage 1, the first 3");
    expect(stderr).toContain("stage 2, all the rest");
    expect((await shop.run(["ops", "show", operation_id ?? ""])).stdout).toMatch(
      /Stage +2 of 2: all the rest/,
    );
    expect(shop.ledger).toHaveLength(40 + 3 + 40);
  });

  it("cannot be used with --detach", async () => {
    const shop = openWorkshop();
    await deadJob(shop, ["a"]);
    expect((await retry(shop, "--canary", "--detach")).code).toBe(2);
    expect((await retry(shop, "--canary-size", "1", "--detach")).code).toBe(2);
    expect((await retry(shop, "--canary-size", "0")).code).toBe(2);
    expect(await shop.letters()).toMatchObject([{ state: "dead" }]);
  });
});

describe("dlq retry --detach and --quiet", () => {
  it("--detach only makes the letters ready; a runner of the job does the work", async () => {
    const shop = openWorkshop();
    await deadJob(shop, ["a", "b"]);
    shop.write("mended", "");
    const result = await retry(shop, "--detach");
    expect(result.code).toBe(0);
    expect(result.json<OperationJson>()).toMatchObject({
      selected: 2,
      redriven: 2,
      succeeded: 0,
      remaining: 2,
    });
    expect((await shop.letters()).map(({ state }) => state)).toEqual(["ready", "ready"]);
    expect(shop.ledger).toHaveLength(2);
    expect((await shop.run(["resume", "n", "--no-dlq"])).code).toBe(0);
    expect(shop.ledger).toHaveLength(4);
    expect((await shop.json<{ operations: unknown[] }>("ops", "list")).operations).toMatchObject([
      { status: "ended", succeeded: 2 },
    ]);
  });

  it("--quiet prints neither progress nor the commands' output, but the result", async () => {
    const shop = openWorkshop();
    await shop.map(["a", "b"], `[ -e ${shop.path("mended")} ] && echo output`, ONE);
    shop.write("mended", "");
    const [first, second] = (await shop.letters()).map(({ item_id }) => item_id);
    const loud = await shop.run(["dlq", "retry", "n", first ?? ""]);
    expect(loud.stdout).toMatch(/^output\n1 letter of n-\w+: 1 succeeded, 0 failed again\.\n$/);
    const quiet = await shop.run(["dlq", "retry", "n", second ?? "", "--quiet"]);
    expect(quiet.stdout).toMatch(/^1 letter of n-\w+: 1 succeeded, 0 failed again\.\n$/);
    expect(quiet.stderr).toBe("");
  });
});

describe("dlq retry that is killed", () => {
  it("pitfall 11: loses no letter; ops resume finishes, runs the rest of the work, and nothing succeeds twice", async () => {
    const shop = openWorkshop();
    const script = `[ -e ${shop.path("mended")} ] || exit 1; echo "start $1 pid $$" >> $L; while [ ! -e ${shop.path("gate")} ] && [ "$1" -gt 6 ]; do sleep 0.02; done; echo "end $1" >> $L`;
    await shop.map(upTo(20), script, ["-j", "2", ...ONE]);
    shop.write("mended", "");
    const args = ["dlq", "retry", "n", "--parallel", "2", "--rate", "1000/s", "--max-retries", "1"];
    const running = shop.start(args, { stdin: "" });
    await shop.untilLedger(
      "two are held up",
      (lines) => lines.filter((line) => line.startsWith("start")).length >= 8,
    );
    running.signal("SIGKILL");
    await running.ended;
    await until("what it had started is gone", () => shop.ledger.every((line) => !isRunning(line)));
    const ended = new Set(shop.ledger.flatMap((line) => /^end (.*)/.exec(line)?.[1] ?? []));
    expect((await shop.letters()).length).toBeGreaterThanOrEqual(20 - ended.size);
    shop.write("gate", "");
    const resumed = await shop.run(["ops", "resume", "--json"]);
    expect(resumed.code).toBe(0);
    expect(resumed.json<OperationJson>()).toMatchObject({
      status: "ended",
      selected: 20,
      succeeded: 20,
      failed: 0,
      refused: 0,
      remaining: 0,
    });
    expect(await shop.letters()).toEqual([]);
    const successes = await shop.events("--type", "attempt_succeeded", "--limit", "1000");
    expect(successes).toHaveLength(20);
    expect(new Set(successes.map(({ item_id }) => item_id)).size).toBe(20);
    expect(new Set(shop.ledger.flatMap((line) => /^end (.*)/.exec(line)?.[1] ?? [])).size).toBe(20);
    expect(await shop.check()).toBe(SOUND);
  });

  it("in a canary's first stage continues in that stage, with the same settings", async () => {
    const shop = openWorkshop();
    const script = `echo "$1 pid $$" >> $L; [ -e ${shop.path("mended")} ] || exit 1; [ -e ${shop.path("gate")} ] || exec sleep 300`;
    await shop.map(upTo(10), script, ONE);
    shop.write("mended", "");
    const running = shop.start(["dlq", "retry", "n", "--canary", "--max-retries", "0"], { stdin: "" });
    await shop.untilLedger("the first has begun", (lines) => lines.length === 11);
    running.signal("SIGKILL");
    await running.ended;
    expect((await shop.letters()).filter(({ state }) => state === "dead")).toHaveLength(9);
    await until("what it had started is gone", () => shop.ledger.every((line) => !isRunning(line)));
    shop.write("gate", "");
    const { stderr, json } = await shop.run(["ops", "resume", "--json"]);
    expect(json<OperationJson>()).toMatchObject({ selected: 10, succeeded: 10 });
    expect(stderr).toContain("stage 2, 1 %");
  });
});

describe("dlq retry --workflow", () => {
  const broken = {
    map: mapOver("echo ${item.id} > out.txt; mv out.txt missing/${item.id}.txt"),
    error_policy: ONE_TRY,
  };
  const corrected = {
    map: mapOver("mkdir -p made; echo ${item.id} > made/${item.id}.txt"),
    error_policy: ONE_TRY,
  };

  it("runs letters with a corrected workflow, merges what they make, and the job keeps it", async () => {
    const project = openProject(itemsJson("a", "b"));
    const { job_id: job } = await project.runJson(broken);
    expect(await project.letters()).toHaveLength(2);
    const file = project.write("corrected.yml", JSON.stringify(corrected));
    const result = await project.do("dlq", "retry", job, "a", "--workflow", file, "--json");
    expect(result.json<OperationJson>()).toMatchObject({ selected: 1, succeeded: 1 });
    expect(project.get("made/a.txt")).toBe("a\n");
    expect((await project.do("dlq", "retry", job, "--json")).json<OperationJson>()).toMatchObject({
      succeeded: 1,
    });
    expect(project.get("made/b.txt")).toBe("b\n");
    expect(await project.check()).toBe(SOUND);
  });

  it("refuses an invalid one before anything is run or changed", async () => {
    const project = openProject(itemsJson("a"));
    const { job_id: job } = await project.runJson(broken);
    const wrong = project.write("wrong.yml", JSON.stringify({ map: mapOver("true"), nmae: "x" }));
    const refused = await project.do("dlq", "retry", job, "--workflow", wrong);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("nmae")]);
    expect((await project.do("dlq", "retry", job, "--workflow", "nowhere.yml")).code).toBe(2);
    expect(await project.letters()).toMatchObject([{ state: "dead", redrive_count: 0 }]);
    expect((await project.do("dlq", "retry", job)).code).toBe(3);
  });

  it("is needed for imported letters, which have no work of their own", async () => {
    const project = openProject(itemsJson("a", "b"));
    const { job_id: job } = await project.runJson(broken);
    const letters = project.path("letters.jsonl");
    expect((await project.do("dlq", "export", letters)).code).toBe(0);
    const elsewhere = {
      ...project.here,
      env: { ...openFolder().env, ...project.here.env },
    };
    const there = (...args: string[]) => project.run(args, elsewhere);
    expect((await there("dlq", "import", letters)).code).toBe(0);
    const refused = await there("dlq", "retry");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("were imported")]);
    expect(refused.stderr).toContain(`redrive dlq retry ${job} --workflow FILE`);
    const file = project.write("corrected.yml", JSON.stringify(corrected));
    const result = await there("dlq", "retry", "--workflow", file, "--json");
    expect(result.json<OperationJson>()).toMatchObject({ selected: 2, succeeded: 2 });
    expect([project.get("made/a.txt"), project.get("made/b.txt")]).toEqual(["a\n", "b\n"]);
  });

  it("is refused for a map, which runs a command", async () => {
    const project = openProject(itemsJson("a"));
    await deadJob(project, ["x"]);
    const file = project.write("flow.yml", JSON.stringify({ map: plainMap("true") }));
    const { code, stderr } = await project.run(["dlq", "retry", "n", "--workflow", file]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("is a map: it runs a command, not a workflow"),
    ]);
  });
});

/** The ledger's lines end with the pid of the command that wrote them. */
function isRunning(line: string): boolean {
  const pid = / pid (\d+)$/.exec(line)?.[1];
  return pid !== undefined && isAlive(Number(pid));
}
