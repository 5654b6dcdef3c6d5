/** The options of retries, backoff, concurrency and failures, each with its effect on real commands. */
import { existsSync, rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isAlive, openWorkshop, SOUND, type Summary, upTo } from "./workshop.ts";

const AT_ONCE = ["--backoff", "none"];
const ONE_BY_ONE = ["-j", "1", "--retries", "0"];

describe("--jobs", () => {
  it("is the number of concurrent items: three of twelve, never four", async () => {
    const shop = openWorkshop();
    const script = `echo "in $1" >> $L; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done; echo "out $1" >> $L`;
    const running = shop.start(shop.mapArgs(script, ["--jobs", "3", "--json"]), {
      stdin: upTo(12).join("\n"),
    });
    await shop.untilLedger("three have begun", (lines) => lines.length >= 3);
    expect(await shop.events("--type", "attempt_started")).toHaveLength(3);
    expect(shop.ledger).toHaveLength(3);
    shop.write("gate", "");
    expect((await running.ended).json<Summary>().succeeded).toBe(12);
    let inside = 0;
    for (const line of shop.ledger) {
      inside += line.startsWith("in") ? 1 : -1;
      expect(inside).toBeLessThanOrEqual(3);
    }
  });
});

describe("--retries", () => {
  it.each([
    ["0", 1],
    ["1", 2],
    ["4", 5],
  ])("%s means %i tries", async (retries, tries) => {
    const shop = openWorkshop();
    const summary = await shop.mapJson(["a", "b"], 'echo "$1 $REDRIVE_ATTEMPT" >> $L; false', [
      "--retries",
      retries,
      ...AT_ONCE,
    ]);
    expect(summary).toMatchObject({ dead: 2, attempts: 2 * tries });
    expect([...shop.ledger].sort()).toEqual(
      ["a", "b"].flatMap((item) => upTo(tries).map((n) => `${item} ${n}`)),
    );
  });

  it("is 2 by default", async () => {
    const shop = openWorkshop();
    await shop.map([1], "echo x >> $L; false", AT_ONCE);
    expect(shop.ledger).toHaveLength(3);
  });
});

describe("--backoff", () => {
  it.each([
    ["exponential:10ms:25ms:nojitter", [10, 20, 25, 25]],
    ["exponential:2ms:1s:3:nojitter", [2, 6, 18, 54]],
    ["linear:10ms:25ms:nojitter", [10, 20, 25, 25]],
    ["fibonacci:5ms:1s:nojitter", [5, 5, 10, 15]],
    ["fixed:7ms", [7, 7, 7, 7]],
    ["list:1ms,9ms,3ms", [1, 9, 3, 3]],
    ["none", [0, 0, 0, 0]],
  ])("%s waits what it says before each retry", async (spec, delaysMs) => {
    const shop = openWorkshop();
    await shop.map([1], "false", ["--retries", "4", "--backoff", spec]);
    const retrying = await shop.events("--type", "attempt_retrying");
    expect(retrying.map((event) => event.data?.delay_ms)).toEqual(delaysMs);
  });
});

describe("--timeout", () => {
  it("ends the command with its children, grandchildren and those that left its session", async () => {
    const shop = openWorkshop();
    const script = [
      "echo $$ >> $L",
      "sleep 300 & echo $! >> $L",
      `sh -c 'sleep 300 & echo $! >> ${shop.ledgerPath}; wait' &`,
      `setsid sh -c 'echo $$ >> ${shop.ledgerPath}; exec sleep 300' &`,
      `while [ $(wc -l < $L) -lt 4 ]; do sleep 0.01; done`,
      `touch ${shop.path("all-up")}; wait`,
    ].join("\n");
    const result = await shop.map([1], script, ["--timeout", "3s", "--retries", "0"]);
    expect(result.code).toBe(3);
    expect(existsSync(shop.path("all-up"))).toBe(true);
    expect(shop.ledger).toHaveLength(4);
    expect(shop.ledger.filter((pid) => isAlive(Number(pid)))).toEqual([]);
    const [letter] = await shop.letters();
    expect(letter?.failure_history[0]).toMatchObject({ error_type: "Timeout", error_class: "transient" });
    expect(letter?.failure_history[0]?.error_message).toBe("sh timed out after 3.0 s");
  });

  it("is a failure like any other: it is retried, and its output is kept", async () => {
    const shop = openWorkshop();
    const script = 'echo "begun $REDRIVE_ATTEMPT"; [ "$REDRIVE_ATTEMPT" = 2 ] || exec sleep 300';
    const summary = await shop.mapJson([1], script, ["--timeout", "1s", ...AT_ONCE]);
    expect(summary).toMatchObject({ succeeded: 1, attempts: 2 });
    const { item_id } = (await shop.events("--type", "attempt_failed"))[0] ?? {};
    const { stdout } = await shop.run(["logs", summary.job_id, item_id ?? "", "--attempt", "1"]);
    expect(stdout).toContain("begun 1\n");
  });
});

describe("--grace", () => {
  const tidying = (how: string) =>
    `trap '${how}; echo tidy >> $L; exit 1' TERM; while :; do sleep 0.02; done`;

  it("lets a command clean up after TERM", async () => {
    const shop = openWorkshop();
    await shop.map([1], tidying("sleep 0.1"), ["--timeout", "1s", "--retries", "0"]);
    expect(shop.ledger).toEqual(["tidy"]);
  });

  it("is the time before KILL", async () => {
    const shop = openWorkshop();
    await shop.map([1], tidying("sleep 3"), ["--timeout", "300ms", "--grace", "100ms", "--retries", "0"]);
    expect(shop.ledger).toEqual([]);
    expect((await shop.letters())[0]?.failure_history[0]).toMatchObject({ error_type: "Timeout" });
  });
});

describe("--on-failure", () => {
  it("dlq keeps the item as a letter", async () => {
    const shop = openWorkshop();
    const result = await shop.map([1, 2], "[ $1 = 2 ]", ["--on-failure", "dlq", "--retries", "0"]);
    expect(result.code).toBe(3);
    expect(await shop.letters()).toHaveLength(1);
  });

  it("skip leaves no letter, but reports how many were skipped", async () => {
    const shop = openWorkshop();
    const result = await shop.map([1, 2], "[ $1 = 2 ]", ["--on-failure", "skip", "--retries", "0"]);
    expect(result.code).toBe(0);
    expect(result.stderr).toContain("1 of 2 succeeded · 1 skipped");
    expect(await shop.letters()).toEqual([]);
    expect(await shop.events("--type", "item_skipped")).toHaveLength(1);
  });

  it("stop ends the job at the first item that is out of retries; the others wait", async () => {
    const shop = openWorkshop();
    const result = await shop.map(upTo(4), 'echo "$1" >> $L; [ $1 != 2 ]', [
      ...["--on-failure", "stop", "-j", "1", "--retries", "1", "--json"],
      ...AT_ONCE,
    ]);
    expect(result.code).toBe(1);
    expect(result.json<Summary>()).toMatchObject({ status: "stopped", dead: 1 });
    expect(shop.ledger.filter((item) => item === "2")).toHaveLength(2);
    expect(await shop.letters()).toHaveLength(1);
  });

  it("retry tries again without waiting for the backoff, and ends as a letter", async () => {
    const shop = openWorkshop();
    const flags = ["--on-failure", "retry", "--backoff", "fixed:1h", "--retries", "2"];
    expect(await shop.mapJson([1], "false", flags)).toMatchObject({ dead: 1, attempts: 3 });
  });
});

describe("limits of a job", () => {
  it("--max-failures stops it when that many items have died", async () => {
    const shop = openWorkshop();
    const result = await shop.map(upTo(6), "false", ["--max-failures", "2", ...ONE_BY_ONE]);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("Stopped: 2 items died, and max_failures is 2.");
    expect(result.stderr).toContain("0 of 6 succeeded · 2 dead · 4 remain");
  });

  it("--failure-threshold stops it by rate, from ten finished items on", async () => {
    const shop = openWorkshop();
    const flags = ["--failure-threshold", "0.3", ...ONE_BY_ONE];
    const result = await shop.map(upTo(20), "[ $(($1 % 2)) = 1 ]", flags);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("Stopped: 5 of 10 finished items died, and failure_threshold is 0.3.");
    expect(result.stderr).toContain("10 remain");
  });

  it("--failure-threshold continues a job that stays below it", async () => {
    const shop = openWorkshop();
    const result = await shop.map(upTo(20), "[ $(($1 % 2)) = 1 ]", [
      "--failure-threshold",
      "0.5",
      ...ONE_BY_ONE,
    ]);
    expect(result.code).toBe(3);
    expect(result.stderr).toContain("10 of 20 succeeded · 10 dead");
  });

  it("--fail-fast stops it at the first item that dies", async () => {
    const shop = openWorkshop();
    const result = await shop.map(upTo(6), "[ $1 != 2 ]", ["--fail-fast", "--json", ...ONE_BY_ONE]);
    expect(result.code).toBe(1);
    expect(result.json<Summary>()).toMatchObject({ status: "stopped", succeeded: 1, dead: 1, remaining: 4 });
  });

  it("a stopped job continues with resume, and done items are not repeated", async () => {
    const shop = openWorkshop();
    const script = `echo "$1" >> $L; [ $1 != 2 ] || [ -e ${shop.path("fixed")} ]`;
    const stopped = await shop.mapJson(upTo(5), script, ["--fail-fast", ...ONE_BY_ONE]);
    shop.write("fixed", "");
    const { code, stderr } = await shop.run(["resume"]);
    expect(code).toBe(0);
    expect(stderr).toContain("5 of 5 succeeded");
    expect([...shop.ledger].sort()).toEqual(["1", "2", "2", "3", "4", "5"]);
    expect((await shop.json<Summary>("status", stopped.job_id)).status).toBe("completed");
  });
});

describe("--breaker", () => {
  /** Fails while the service is down. */
  const calling = (down: string) =>
    `echo "$1" >> $L; [ ! -e ${down} ] || { echo "connection refused" >&2; exit 1; }`;

  it("pauses the queue in an outage: untouched items stay ready, and nothing dies", async () => {
    const shop = openWorkshop();
    const down = shop.write("down", "");
    const flags = ["--breaker", "3", "--breaker-timeout", "1h", "-j", "1", "--retries", "9", ...AT_ONCE];
    const running = shop.start(shop.mapArgs(calling(down), [...flags, "--name", "calls"]), {
      stdin: upTo(40).join("\n"),
    });
    await shop.untilLedger("three were tried", (lines) => lines.length >= 3);
    expect(await shop.json("status", "calls")).toMatchObject({ status: "running", dead: 0, remaining: 40 });
    expect(shop.ledger).toHaveLength(3);
    running.signal("SIGINT");
    expect((await running.ended).code).toBe(130);
    expect(await shop.json("status", "calls")).toMatchObject({ dead: 0, remaining: 40, attempts: 3 });
    expect(await shop.check()).toBe(SOUND);
  });

  it("tries a few after --breaker-timeout and continues when they succeed", async () => {
    const shop = openWorkshop();
    const down = shop.write("down", "");
    const flags = ["--breaker", "2", "--breaker-timeout", "500ms", "-j", "2", "--retries", "50", "--json"];
    const running = shop.start(shop.mapArgs(calling(down), [...flags, ...AT_ONCE]), {
      stdin: upTo(20).join("\n"),
    });
    await shop.untilLedger("probes were sent", (lines) => lines.length >= 4);
    rmSync(down);
    const summary = (await running.ended).json<Summary>();
    expect(summary).toMatchObject({ succeeded: 20, dead: 0 });
    const tried = await shop.events("--type", "attempt_failed");
    expect(tried.length).toBeLessThan(20);
  });

  it("--breaker-timeout without --breaker is an error", async () => {
    const { code, stderr } = await openWorkshop().map([1], "true", ["--breaker-timeout", "1s"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--breaker-timeout needs --breaker");
  });
});
