/** Commands that show jobs: lists, status, logs and events, during and after a run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CLI_PATH } from "../support/cli.ts";
import { type EventJson, openWorkshop, type Summary, upTo } from "./workshop.ts";

type Overview = {
  readonly groups: readonly { readonly signature: string; readonly count: number }[];
  readonly queues: readonly { readonly dead_letters: number }[];
};

describe("jobs", () => {
  it("lists jobs newest first, at most --limit of them", async () => {
    const shop = openWorkshop();
    for (const name of ["first", "second", "third"]) await shop.map([1], "true", ["--name", name]);
    const { jobs } = await shop.json<{ jobs: Summary[] }>("jobs");
    expect(jobs.map((job) => job.name)).toEqual(["third", "second", "first"]);
    expect(jobs[0]).toMatchObject({ status: "completed", total: 1, succeeded: 1 });
    const limited = await shop.json<{ jobs: Summary[] }>("jobs", "--limit", "2");
    expect(limited.jobs.map((job) => job.name)).toEqual(["third", "second"]);
    const { stdout } = await shop.run(["jobs"]);
    expect(stdout).toContain("third");
    expect(stdout).toContain("completed");
  });
});

describe("overview", () => {
  it("shows dead letters, the largest group, queues without a worker and how to continue", async () => {
    const shop = openWorkshop();
    expect((await shop.run(["overview"])).stdout).toContain("redrive demo");
    await shop.map(upTo(4), "[ $1 = 2 ] || { echo broken >&2; exit 1; }", ["--name", "n", "--retries", "0"]);
    await shop.run(["queue", "create", "orders"]);
    await shop.run(["queue", "add", "orders", "--data", '{"id":"7"}']);
    const { stdout } = await shop.run(["overview"]);
    expect(stdout).toMatch(/^3 letters in 1 group · 1 ready · 0 running\n/);
    expect(stdout).toMatch(/orders +1 +0 +0 +0 .*no worker/);
    const { groups, queues } = await shop.json<Overview>("overview");
    expect(groups).toMatchObject([{ count: 3 }]);
    expect(stdout).toContain(`redrive groups show ${groups[0]?.signature}`);
    expect(queues.map(({ dead_letters }) => dead_letters).sort()).toEqual([0, 3]);
  });
});

describe("status", () => {
  it("shows a job by its id or its name, with the groups of its failures", async () => {
    const shop = openWorkshop();
    const { job_id } = await shop.mapJson(upTo(3), "[ $1 != 2 ]", ["--name", "n", "--retries", "0"]);
    for (const name of [job_id, "n"]) {
      expect(await shop.json<Summary>("status", name)).toMatchObject({ job_id, succeeded: 2, dead: 1 });
    }
    expect((await shop.run(["status", "n"])).stdout).toContain("2 of 3 succeeded · 1 dead");
  });

  it("without a job shows the latest of this folder, and without any job how to start one", async () => {
    const shop = openWorkshop();
    const none = await shop.run(["status"]);
    expect(none.code).toBe(4);
    expect(none.stderr).toContain("redrive map");
    const { job_id } = await shop.mapJson(upTo(1), "true", []);
    mkdirSync(shop.path("elsewhere"));
    await shop.run(["map", "--", "true"], { stdin: "1\n", cwd: shop.path("elsewhere") });
    expect(await shop.json<Summary>("status")).toMatchObject({ job_id });
  });

  it("shows no rate for a resumed job, because the runs were not observed", async () => {
    const shop = openWorkshop();
    await shop.map(upTo(20), "true", ["--name", "n"]);
    expect((await shop.run(["status", "n"])).stdout).toMatch(/^20 of 20 succeeded · \S+ m?s · \S+\/s\n$/);
    expect((await shop.run(["resume", "n"])).stderr).toContain("20 of 20 succeeded · none in this run · ");
    expect((await shop.run(["status", "n"])).stdout).toMatch(/^20 of 20 succeeded · latest run \S+ m?s\n$/);
  });

  it("--watch follows a running job to its end", async () => {
    const shop = openWorkshop();
    const script = `echo x >> $L; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done`;
    const job = shop.start(shop.mapArgs(script, ["--name", "n", "-j", "1"]), { stdin: "1\n2\n" });
    await shop.untilLedger("it runs", (lines) => lines.length > 0);
    const watching = shop.start(["status", "n", "--watch", "--json"], { stdin: "" });
    await watching.untilStderr("running: 0 of 2 done");
    shop.write("gate", "");
    const watched = await watching.ended;
    expect(watched.code).toBe(0);
    expect(watched.json<Summary>()).toMatchObject({ status: "completed", succeeded: 2 });
    expect((await job.ended).code).toBe(0);
  });

  it("shows a job whose runner was killed as interrupted, not running", async () => {
    const shop = openWorkshop();
    const job = shop.start(shop.mapArgs("echo x >> $L; exec sleep 300", ["--name", "n"]), { stdin: "1\n" });
    await shop.untilLedger("it runs", (lines) => lines.length > 0);
    expect(await shop.json("status", "n")).toMatchObject({ status: "running", remaining: 1 });
    job.signal("SIGKILL");
    await job.ended;
    expect(await shop.json("status", "n")).toMatchObject({ status: "interrupted", remaining: 1 });
  });
});

describe("logs", () => {
  it("prints the output of the last attempt, or of the given one", async () => {
    const shop = openWorkshop();
    const script = 'echo "out $REDRIVE_ATTEMPT"; echo "err $REDRIVE_ATTEMPT" >&2; [ "$REDRIVE_ATTEMPT" = 3 ]';
    const flags = ["--id-field", "id", "--name", "n", "--backoff", "none"];
    await shop.map([{ id: "one" }], script, flags);
    const last = await shop.run(["logs", "n", "one"]);
    expect(last.code).toBe(0);
    expect(last.stdout).toContain("out 3\n");
    expect(last.stdout).toContain("err 3\n");
    const first = await shop.run(["logs", "n", "one", "--attempt", "1"]);
    expect(first.stdout).toContain("out 1\n");
    expect(first.stdout).not.toContain("out 3");
    const { log, ...rest } = await shop.json<{ log: string }>("logs", "n", "one", "--attempt", "2");
    expect(rest).toEqual({ item_id: "one", attempt: 2, outcome: "failed" });
    expect(log).toMatch(/\/one\/2\.log$/);
  });

  it("finds an item by its data too, before ids with that prefix", async () => {
    const shop = openWorkshop();
    await shop.map(upTo(60).map(String), 'echo "item $1"', ["--name", "n"]);
    for (const item of ["1", "7", "60"]) {
      expect((await shop.run(["logs", "n", item])).stdout).toContain(`\nitem ${item}\n`);
    }
    const none = await shop.run(["logs", "n", "no such thing"]);
    expect(none.code).toBe(4);
    expect(none.stderr).toContain("or its data");
  });

  it("reports a missing attempt, or one without output", async () => {
    const shop = openWorkshop();
    await shop.map([{ id: "one" }], "true", ["--id-field", "id", "--name", "n"]);
    const none = await shop.run(["logs", "n", "one"]);
    expect(none.code).toBe(4);
    expect(none.stderr).toContain("Attempt 1 of one (succeeded)");
    const beyond = await shop.run(["logs", "n", "one", "--attempt", "2"]);
    expect(beyond.code).toBe(4);
    expect(beyond.stderr).toMatch(/one has no attempt 2\.\s+It has had 1 attempt\./);
  });
});

describe("events", () => {
  it("have the whole life of an item in order", async () => {
    const shop = openWorkshop();
    const flags = ["--id-field", "id", "--name", "n", "--retries", "1", "--backoff", "none"];
    await shop.map([{ id: "one" }], `[ -e ${shop.path("fixed")} ]`, flags);
    shop.write("fixed", "");
    await shop.run(["dlq", "retry", "n"]);
    const types = (await shop.events("n"))
      .filter((event) => event.item_id === "one")
      .map((event) => event.type);
    expect(types).toEqual([
      "item_queued",
      "attempt_started",
      "attempt_failed",
      "attempt_retrying",
      "attempt_started",
      "attempt_failed",
      "dlq_item_added",
      "group_opened",
      "attempt_started",
      "attempt_succeeded",
      "dlq_item_removed",
      "group_resolved",
    ]);
  });

  it("of one job, of one type, of a period, or the first few", async () => {
    const shop = openWorkshop();
    await shop.map(upTo(3), "true", ["--name", "a"]);
    const { job_id } = await shop.mapJson(upTo(2), "true", ["--name", "b"]);
    const queued = await shop.events("b", "--type", "item_queued");
    expect(queued.map((event) => event.type)).toEqual(["item_queued", "item_queued"]);
    expect(new Set(queued.map((event) => event.job_id))).toEqual(new Set([job_id]));
    expect(await shop.events("--type", "attempt_started,attempt_succeeded")).toHaveLength(10);
    expect((await shop.events("--limit", "2")).map((event) => event.type)).toEqual([
      "job_started",
      "item_queued",
    ]);
    expect(await shop.events("--since", "0ms")).toEqual([]);
    expect((await shop.events("--since", "1h")).length).toBeGreaterThan(10);
    const { stdout } = await shop.run(["events", "b"]);
    expect(stdout.split("\n")[0]).toMatch(/^\d{4}-\S+Z {2}job_started {2}b-/);
  });

  it("--follow continues with new events, one JSON object per line, until Ctrl-C", async () => {
    const shop = openWorkshop();
    await shop.map([1], "true", ["--name", "n"]);
    const following = shop.start(["events", "n", "--follow", "--json", "--type", "attempt_succeeded"], {
      stdin: "",
    });
    await following.untilStdout("attempt_succeeded");
    await shop.map([1, 2], "true", ["--name", "n"]);
    const lines = () => following.stdout.split("\n").slice(0, -1);
    await following.until("the second success is told", () => lines().length === 2);
    following.signal("SIGINT");
    const { code } = await following.ended;
    expect(code).toBe(0);
    const events = lines().map((line) => JSON.parse(line) as EventJson);
    expect(events.map((event) => event.type)).toEqual(["attempt_succeeded", "attempt_succeeded"]);
  });
});

describe("store", () => {
  it("info shows its location and contents", async () => {
    const shop = openWorkshop();
    await shop.map(upTo(3), "[ $1 != 2 ]", ["--retries", "1", "--backoff", "none"]);
    const info = await shop.json<{ location: string }>("store", "info");
    expect(info).toMatchObject({
      engine: shop.isOnPostgres ? "postgres" : "sqlite",
      location: shop.isOnPostgres ? shop.storeUrl : shop.storePath,
      jobs: 1,
      items: 3,
      letters: 1,
      attempts: 4,
    });
    expect((await shop.run(["store", "info"])).stdout).toContain(info.location);
  });

  it("check finds no problem in a sound store", async () => {
    const shop = openWorkshop();
    await shop.map(upTo(3), "[ $1 != 2 ]", ["--retries", "0"]);
    expect(await shop.json("store", "check")).toEqual({ ok: true, problems: [] });
  });
});

describe("help", () => {
  it("names every command, and each command its options", async () => {
    const shop = openWorkshop();
    const { code, stdout } = await shop.run(["--help"]);
    expect(code).toBe(0);
    for (const name of ["map", "resume", "demo", "jobs", "status", "logs", "events", "dlq", "store"]) {
      expect(stdout).toMatch(new RegExp(`^ +${name}\\b`, "m"));
    }
    expect((await shop.run(["map", "--help"])).stdout).toContain("--failure-threshold");
    expect((await shop.run(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("a reader that closes the pipe", () => {
  it.each(["stdout", "stderr"] as const)(
    "of %s changes neither the work nor the exit code",
    async (stream) => {
      const shop = openWorkshop();
      const child = spawn(
        process.execPath,
        [CLI_PATH, ...shop.mapArgs('echo "$1" | tee -a $L', ["-j", "1"])],
        {
          env: { ...process.env, ...shop.env },
        },
      );
      const left = stream === "stdout" ? child.stdout : child.stderr;
      left.destroy();
      await once(left, "close");
      child.stdout.resume();
      child.stderr.resume();
      child.stdin.end("1\n2\n");
      expect(await once(child, "exit")).toEqual([0, null]);
      expect(shop.ledger).toEqual(["1", "2"]);
    },
  );
});
