/** A repeated map: the identity of items, resuming by name, and the location of the store. */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openWorkshop, type Summary, upTo } from "./workshop.ts";

const NOTE = 'echo "$1" >> $L';

describe("--name", () => {
  it("continues the job: done items are not repeated, new ones are added", async () => {
    const shop = openWorkshop();
    const first = await shop.mapJson(["a", "b"], NOTE, ["--name", "n"]);
    const second = await shop.mapJson(["c", "b", "a"], NOTE, ["--name", "n"]);
    expect(second.job_id).toBe(first.job_id);
    expect(second).toMatchObject({ total: 3, succeeded: 3, attempts: 3 });
    expect([...shop.ledger].sort()).toEqual(["a", "b", "c"]);
  });

  it("a true duplicate is its own item, and recognised the next time", async () => {
    const shop = openWorkshop();
    await shop.mapJson(["a", "a"], NOTE, ["--name", "n"]);
    expect(shop.ledger).toEqual(["a", "a"]);
    expect(await shop.mapJson(["a", "a", "a"], NOTE, ["--name", "n"])).toMatchObject({
      total: 3,
      attempts: 3,
    });
    expect(shop.ledger).toEqual(["a", "a", "a"]);
  });

  it("does not touch earlier letters", async () => {
    const shop = openWorkshop();
    await shop.map(["a"], `${NOTE}; false`, ["--name", "n", "--retries", "0"]);
    const { code } = await shop.map(["a"], `${NOTE}; false`, ["--name", "n", "--retries", "0"]);
    expect(code).toBe(3);
    expect(shop.ledger).toEqual(["a"]);
    expect(await shop.letters()).toHaveLength(1);
  });

  it("is needed to resume: without it every run is a new job", async () => {
    const shop = openWorkshop();
    await shop.map(["a"], NOTE);
    await shop.map(["a"], NOTE);
    expect(shop.ledger).toEqual(["a", "a"]);
    expect((await shop.json<{ jobs: unknown[] }>("jobs")).jobs).toHaveLength(2);
  });

  it("an item with the same id and other data is reported, and the first data is kept", async () => {
    const shop = openWorkshop();
    const flags = ["--name", "n", "--id-field", "id", "--retries", "0"];
    await shop.map([{ id: "x", v: 1 }], `${NOTE}; false`, flags);
    const { stderr } = await shop.map([{ id: "x", v: 2 }], `${NOTE}; false`, flags);
    expect(stderr).toContain(
      "The input has items with an existing id but different data (x). The data that was read first is kept.",
    );
    expect((await shop.letters())[0]?.item_data).toEqual({ id: "x", v: 1 });
  });

  it("--accept-changes continues with another command, only for items that are not done", async () => {
    const shop = openWorkshop();
    await shop.map(["a", "b"], '[ "$1" = a ] && echo "old $1" >> $L', ["--name", "n", "--retries", "0"]);
    const result = await shop.map(["a", "b", "c"], 'echo "new $1" >> $L', [
      "--name",
      "n",
      "--accept-changes",
    ]);
    expect(result.code).toBe(3);
    await shop.run(["resume", "n"]);
    expect(shop.ledger).toEqual(["old a", "new c", "new b"]);
  });
});

describe("the identity of an item", () => {
  it("--id-field is its id everywhere", async () => {
    const shop = openWorkshop();
    await shop.map([{ user: { no: 7 } }], "false", ["--id-field", "user.no", "--retries", "0"]);
    expect((await shop.letters())[0]?.item_id).toBe("7");
  });

  it("an item without that field is an input error that names the line", async () => {
    const { code, stderr } = await openWorkshop().map([{ id: 1 }, { no: 2 }], "true", ["--id-field", "id"]);
    expect(code).toBe(2);
    expect(stderr).toContain("stdin:2");
    expect(stderr).toContain("id");
  });

  it("--distinct drops equal items, however they are written", async () => {
    const shop = openWorkshop();
    const summary = await shop.mapJson([{ a: 1, b: 2 }, { b: 2, a: 1 }, { a: 1 }], NOTE, ["--distinct"]);
    expect(summary.total).toBe(2);
    expect(shop.ledger).toHaveLength(2);
  });

  it("--distinct with a field drops items with an equal value of it", async () => {
    const shop = openWorkshop();
    const items = [
      { host: "a", n: 1 },
      { host: "b", n: 2 },
      { host: "a", n: 3 },
    ];
    const script = 'echo "$1" >> $L';
    await shop.mapJson(items, script, ["-j", "1", "--distinct", "host"]);
    expect(shop.ledger.map((line) => JSON.parse(line).n)).toEqual([1, 2]);
  });
});

describe("the store", () => {
  it("is that of REDRIVE_STORE, and --store precedes it", async () => {
    const shop = openWorkshop();
    const env = { REDRIVE_STORE: `sqlite:${shop.path("env.db")}` };
    await shop.run(["map", "--name", "one", "--", "true"], { stdin: "1\n", env });
    await shop.run(["map", "--name", "two", "--store", `sqlite:${shop.path("flag.db")}`, "--", "true"], {
      stdin: "1\n",
      env,
    });
    expect(existsSync(shop.storePath)).toBe(false);
    const names = async (...flags: string[]) =>
      (await shop.run(["jobs", "--json", ...flags], { env }))
        .json<{ jobs: Summary[] }>()
        .jobs.map((job) => job.name);
    expect(await names()).toEqual(["one"]);
    expect(await names("--store", `sqlite:${shop.path("flag.db")}`)).toEqual(["two"]);
  });
});

describe("resume", () => {
  it("redrives eligible letters and leaves them with --no-dlq", async () => {
    const shop = openWorkshop();
    const script = `${NOTE}; [ -e ${shop.path("fixed")} ]`;
    const { job_id } = await shop.mapJson(upTo(3), script, ["--retries", "0"]);
    shop.write("fixed", "");
    const left = await shop.run(["resume", job_id, "--no-dlq", "--json"]);
    expect(left.code).toBe(3);
    expect(left.json<Summary>()).toMatchObject({ dead: 3, succeeded: 0, attempts: 3 });
    const done = await shop.run(["resume", job_id, "--json"]);
    expect(done.code).toBe(0);
    expect(done.json<Summary>()).toMatchObject({ dead: 0, succeeded: 3, attempts: 6 });
  });

  it("--jobs is the number of concurrent items, whatever the job's setting", async () => {
    const shop = openWorkshop();
    const gate = shop.path("gate");
    const script = `[ -e ${shop.path("fixed")} ] || exit 1; echo in >> $L; while [ ! -e ${gate} ]; do sleep 0.02; done`;
    const { job_id } = await shop.mapJson(upTo(6), script, ["-j", "1", "--retries", "0"]);
    shop.write("fixed", "");
    const running = shop.start(["resume", job_id, "--jobs", "4"], { stdin: "" });
    await shop.untilLedger("four have begun", (lines) => lines.length >= 4);
    expect(await shop.json<Summary>("status", job_id)).toMatchObject({ attempts: 6 + 4 });
    expect(shop.ledger).toHaveLength(4);
    shop.write("gate", "");
    expect((await running.ended).code).toBe(0);
  });

  it("takes the latest unfinished job", async () => {
    const shop = openWorkshop();
    await shop.map(upTo(2), "false", ["--name", "old", "--retries", "0", "--fail-fast"]);
    await shop.map(upTo(2), "false", ["--name", "stopped", "--retries", "0", "--fail-fast"]);
    await shop.map(upTo(2), "true", ["--name", "fine"]);
    const summary = (await shop.run(["resume", "--json", "--no-dlq"])).json<Summary>();
    expect(summary.name).toBe("stopped");
  });

  it("a job with invalid input is not kept under its name as if it had run", async () => {
    const shop = openWorkshop();
    expect((await shop.run(["map", "-i", "missing.json", "--", "true"])).code).toBe(2);
    expect((await shop.run(["jobs"])).stdout).toBe("No jobs. To run one: redrive demo\n");
  });
});
