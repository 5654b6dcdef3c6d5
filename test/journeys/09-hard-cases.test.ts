/** Difficult input and commands: invalid lines, missing programs, huge output, large and many items. */
import { chmodSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { openStore, readItems } from "../../src/exports/engine.ts";
import { asJsonLines, openWorkshop, SOUND, type Summary, upTo } from "./workshop.ts";

const NOTE = 'echo "$1" >> $L';
const MB = 1024 * 1024;

describe("an input with an error in the middle", () => {
  it("keeps the items before it; corrected and run again under its name, the rest is added", async () => {
    const shop = openWorkshop();
    const good = upTo(5).map((n) => `{"n":${n}}\n`);
    shop.write("in.jsonl", [...good.slice(0, 3), '{"n": oops}\n', ...good.slice(3)].join(""));
    const args = [
      "map",
      "-i",
      "in.jsonl",
      "--name",
      "n",
      "--json",
      "--",
      "sh",
      "-c",
      `echo $1 >> ${shop.ledgerPath}`,
      "sh",
      "${item.n}",
    ];
    const broken = await shop.run(args);
    expect(broken.code).toBe(2);
    expect(broken.json()).toMatchObject({
      error: { code: "input_invalid", message: expect.stringMatching(/in\.jsonl:4:.* JSON/) },
    });
    const between = await shop.json<Summary>("status", "n");
    expect(between).toMatchObject({ status: "failed", total: 3, dead: 0 });
    shop.write("in.jsonl", good.join(""));
    const mended = await shop.run(args);
    expect(mended.code).toBe(0);
    expect(mended.json<Summary>()).toMatchObject({ job_id: between.job_id, total: 5, succeeded: 5 });
    expect([...shop.ledger].sort()).toEqual(["1", "2", "3", "4", "5"]);
    expect(await shop.check()).toBe(SOUND);
  });

  it("resume also reads the corrected file to its end", async () => {
    const shop = openWorkshop();
    shop.write("in.csv", 'a\n1\n"2\n');
    const args = [
      "map",
      "-i",
      "in.csv",
      "--name",
      "n",
      "--",
      "sh",
      "-c",
      `echo $1 >> ${shop.ledgerPath}`,
      "sh",
      "${item.a}",
    ];
    const broken = await shop.run(args);
    expect(broken.code).toBe(2);
    expect(broken.stderr).toContain("in.csv:");
    shop.write("in.csv", "a\n1\n2\n");
    expect((await shop.run(["resume", "n"])).code).toBe(0);
    expect([...shop.ledger].sort()).toEqual(["1", "2"]);
  });
});

describe("a command that cannot run", () => {
  it("because it does not exist is reported before anything is queued", async () => {
    const shop = openWorkshop();
    const { code, stderr } = await shop.run(["map", "--", "no-such-tool", "{}"], { stdin: "1\n" });
    expect(code).toBe(2);
    expect(stderr).toContain("The command no-such-tool was not found in PATH.");
    expect((await shop.json<{ jobs: unknown[] }>("jobs")).jobs).toEqual([]);
  });

  it("because a name stands before -- is told what was taken as the command", async () => {
    const shop = openWorkshop();
    await shop.run(["queue", "create", "orders"]);
    const { code, stderr } = await shop.run(["worker", "orders", "--until-empty", "--", "true"]);
    expect(code).toBe(2);
    expect(stderr).toContain("redrive worker --queue QUEUE -- true");
  });

  it("because it is not executable is reported too", async () => {
    const shop = openWorkshop();
    chmodSync(shop.write("tool.sh", "#!/bin/sh\n"), 0o644);
    const { code, stderr } = await shop.run(["map", "--", "./tool.sh"], { stdin: "1\n" });
    expect(code).toBe(2);
    expect(stderr).toContain("The command ./tool.sh was not found or cannot be executed");
    expect(stderr).toContain("execute permission");
  });

  it("because it is a folder is reported too", async () => {
    const shop = openWorkshop();
    mkdirSync(shop.path("folder"));
    const { code, stderr } = await shop.run(["map", "--", "./folder"], { stdin: "1\n" });
    expect(code).toBe(2);
    expect(stderr).toContain("./folder");
  });

  it("because its name comes from the item fails that item, at once", async () => {
    const shop = openWorkshop();
    const result = await shop.run(["map", "--json", "--retries", "5", "--", "${item}"], {
      stdin: "true\nno-such-tool\n/\n",
    });
    expect(result.code).toBe(3);
    expect(result.json<Summary>()).toMatchObject({ succeeded: 1, dead: 2, attempts: 3 });
    const messages = (await shop.letters()).map((letter) => letter.failure_history[0]?.error_message).sort();
    expect(messages.join("\n")).toContain("cannot be started (ENOENT)");
    expect(messages.join("\n")).toContain("cannot be started (EACCES)");
  });
});

describe("output", () => {
  it("of 100 MB on one line: the tails are limited, the log reports what it dropped", async () => {
    const shop = openWorkshop();
    const script = "head -c 104857600 /dev/zero | tr '\\0' x; [ -e fixed ]";
    await shop.map([{ id: "x" }], script, ["--id-field", "id", "--name", "n", "--retries", "0", "--quiet"]);
    const [letter] = await shop.letters();
    const [failure] = letter?.failure_history ?? [];
    expect((failure?.stdout_tail ?? "").length).toBeLessThanOrEqual(8192 + 100);
    expect(failure?.stdout_tail).toContain("xxxx");
    const log = failure?.log ?? "";
    expect(statSync(log).size).toBeLessThan(65 * MB);
    expect(readFileSync(log, "latin1")).toMatch(/bytes dropped/);
    expect(failure?.error_message.length).toBeLessThan(700);
  });

  it("in binary reaches stdout unchanged, and the record as readable text", async () => {
    const shop = openWorkshop();
    const bytes = Buffer.from(upTo(256).map((n) => n - 1));
    const path = shop.write("bytes", bytes);
    expect((await shop.map([1], `cat ${path}`)).stdoutBytes.equals(bytes)).toBe(true);
    const { code } = await shop.map([1], `cat ${path} >&2; false`, ["--retries", "0"]);
    expect(code).toBe(3);
    expect((await shop.letters())[0]?.failure_history[0]).toMatchObject({ exit_code: 1 });
    const { stdout } = await shop.run(["dlq", "list"]);
    expect([...stdout].filter((char) => char < " " && char !== "\n")).toEqual([]);
  });

  it("that is closed early by its reader does not end the work", async () => {
    const shop = openWorkshop();
    const running = shop.start(shop.mapArgs(`${NOTE}; seq 1 2000`, ["-j", "2"]), {
      stdin: asJsonLines(upTo(40)),
    });
    await running.untilStdout("2000");
    running.closeStdout();
    const { code, signal, stderr } = await running.ended;
    expect([code, signal]).toEqual([0, null]);
    expect(stderr).toContain("40 of 40 succeeded");
    expect(shop.ledger).toHaveLength(40);
  });

  it.each([
    ["a list", ["events"]],
    ["a log", ["logs", "n", "x"]],
    ["a list that is followed", ["events", "--follow"]],
  ])("%s that is closed early ends quietly", async (_, args) => {
    const shop = openWorkshop();
    const items = [{ id: "x" }, ...upTo(100).map((n) => ({ id: n }))];
    await shop.map(items, "seq 1 30000", ["--id-field", "id", "--name", "n", "--quiet"]);
    const running = shop.start(args, { stdin: "" });
    running.closeStdout();
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([0, ""]);
  });
});

describe("large items", () => {
  const large = "y".repeat(5 * MB);

  it("of 5 MB are passed completely on stdin", async () => {
    const shop = openWorkshop();
    const args = ["map", "--format", "lines", "--", "sh", "-c", 'wc -c; echo "$${REDRIVE_ITEM-unset}"'];
    const { code, stdout } = await shop.run(args, { stdin: `${large}\n` });
    expect(code).toBe(0);
    expect(stdout.trim().split(/\s+/)).toEqual([String(5 * MB + 1), "unset"]);
  });

  it("of 5 MB as an argument are a clear permanent failure with a hint", async () => {
    const shop = openWorkshop();
    const { code } = await shop.run(["map", "--format", "lines", "--retries", "5", "--", "echo", "{}"], {
      stdin: `${large}\n`,
    });
    expect(code).toBe(3);
    const [letter] = await shop.letters();
    expect(letter?.item_data).toBe(large);
    expect(letter).toMatchObject({ failure_count: 1, reprocess_eligible: false });
    expect(letter?.failure_history[0]).toMatchObject({ error_class: "permanent" });
    expect(letter?.failure_history[0]?.error_message).toMatch(
      /too large for an argument; .*read it from stdin/,
    );
    expect(letter?.failure_history[0]?.error_message).not.toContain("REDRIVE_ITEM_FILE");
  });
});

describe("many identical items", () => {
  it("3,000 of them are 3,000 items, each run once", async () => {
    const shop = openWorkshop();
    const result = await shop.run(["map", "--json", "-j", "8", "--name", "n", "--", "true"], {
      stdin: "same\n".repeat(3000),
    });
    expect(result.json<Summary>()).toMatchObject({ total: 3000, succeeded: 3000, attempts: 3000 });
    const again = await shop.run(["map", "--json", "-j", "8", "--name", "n", "--", "true"], {
      stdin: "same\n".repeat(3000),
    });
    expect(again.json<Summary>()).toMatchObject({ total: 3000, succeeded: 3000, attempts: 3000 });
  });

  it("100,000 of them are added with an id each, and once only", async () => {
    const shop = openWorkshop();
    const engine = await openStore(`sqlite:${shop.path("many.db")}`);
    await engine.createJob({ id: "many", name: "many", kind: "map", spec: {} });
    const takeIn = async () => {
      let added = 0;
      const stdin = Readable.from([Buffer.from("same\n".repeat(100_000))]);
      for await (const batch of readItems({ path: "-", format: "lines" }, { stdin })) {
        added += (await engine.add("many", batch.items)).added;
      }
      return added;
    };
    expect(await takeIn()).toBe(100_000);
    expect(await takeIn()).toBe(0);
    expect(await engine.count("many")).toMatchObject({ total: 100_000, ready: 100_000 });
    await engine.close();
  });
});
