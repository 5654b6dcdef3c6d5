/**
 * A store that is full, read-only, locked, damaged, foreign or too new: a clear message, exit code 75, and nothing
 * lost.
 */
import { closeSync, copyFileSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { useProcesses } from "../support/cli.ts";
import { fillUp, makeReadOnly, mountSmall, NO_MOUNTS } from "../support/mounts.ts";
import { until } from "../support/until.ts";
import {
  asJsonLines,
  type ErrorJson,
  ON_POSTGRES,
  openWorkshop,
  SOUND,
  type Summary,
  upTo,
  type Workshop,
} from "./workshop.ts";
import { openWriteLock } from "./write-lock.ts";

useProcesses();

const NOTE = 'echo "$1" >> $L';
const MB = 1024 * 1024;

const ifMounts = NO_MOUNTS === null ? describe : describe.skip;
const because = NO_MOUNTS === null ? "" : ` (skipped: ${NO_MOUNTS})`;
/** Changes the store's file itself. On PostgreSQL, test/engines/postgres damages the tables. */
const inFile = it.skipIf(ON_POSTGRES);

ifMounts(`a full disk${because}`, () => {
  it("stops a map before it begins, with nothing run; with free space the same command works", async () => {
    const shop = openWorkshop();
    mountSmall(shop.path("small"), 8 * MB);
    const store = ["--store", `sqlite:${shop.path("small/redrive.db")}`];
    const args = shop.mapArgs(NOTE, ["--name", "n", "--store-wait", "200ms", ...store]);
    await shop.run(["jobs", ...store]);
    fillUp(shop.path("small/ballast"));
    const full = await shop.run(args, { stdin: "1\n2\n" });
    expect(full.code).toBe(75);
    expect(full.stderr).toContain("the disk is full");
    expect(full.stderr).toContain("Free some space");
    expect(shop.ledger).toEqual([]);
    rmSync(shop.path("small/ballast"));
    expect((await shop.run(args, { stdin: "1\n2\n" })).code).toBe(0);
    expect([...shop.ledger].sort()).toEqual(["1", "2"]);
  });

  it("during a job is waited for: the job continues when there is space, and nothing is repeated", async () => {
    const shop = openWorkshop();
    mountSmall(shop.path("small"), 8 * MB);
    const store = `sqlite:${shop.path("small/redrive.db")}`;
    const script = `echo "$1" >> $L; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done`;
    const running = shop.start(
      shop.mapArgs(script, ["-j", "2", "--json", "--store", store, "--retries", "0"]),
      {
        stdin: asJsonLines(upTo(50)),
      },
    );
    await shop.untilLedger("two run", (lines) => lines.length === 2);
    fillUp(shop.path("small/ballast"));
    shop.write("gate", "");
    await running.untilStderr("the disk is full");
    rmSync(shop.path("small/ballast"));
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ succeeded: 50, dead: 0, attempts: 50 });
    expect(shop.ledger.map(Number).sort((a, b) => a - b)).toEqual(upTo(50));
    expect((await shop.run(["store", "check", "--store", store])).stdout).toBe(SOUND);
  });

  it("that stays full ends the job with 75, children ended; resume completes it", async () => {
    const shop = openWorkshop();
    mountSmall(shop.path("small"), 8 * MB);
    const store = ["--store", `sqlite:${shop.path("small/redrive.db")}`];
    const script = `echo "$1" >> $L; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done`;
    const running = shop.start(
      shop.mapArgs(script, ["-j", "1", "--store-wait", "300ms", "--name", "n", ...store]),
      {
        stdin: asJsonLines(upTo(30)),
      },
    );
    await shop.untilLedger("one runs", (lines) => lines.length === 1);
    fillUp(shop.path("small/ballast"));
    shop.write("gate", "");
    const full = await running.ended;
    expect(full.code).toBe(75);
    expect(full.stderr).toContain("the disk is full");
    rmSync(shop.path("small/ballast"));
    const resumed = await shop.run(["resume", "n", "--json", ...store]);
    expect(resumed.json<Summary>()).toMatchObject({ total: 30, succeeded: 30, dead: 0 });
    expect(new Set(shop.ledger).size).toBe(30);
    expect((await shop.run(["store", "check", ...store])).stdout).toBe(SOUND);
  });

  it("under the logs counts no attempt and buries nothing; the job is done when there is space", async () => {
    const shop = openWorkshop();
    mountSmall(shop.path("redrive/logs"), MB);
    const ballast = shop.path("redrive/logs/ballast");
    // More than a pipe holds, so that the command notices that its output cannot be written. A second attempt waits until
    // there is space: it must not fail while space is being freed.
    const wait = `[ "$REDRIVE_ATTEMPT" = 1 ] || until [ -e ${shop.path("room")} ]; do sleep 0.02; done`;
    const script = `echo "$1" >> $L; ${wait}; head -c 200000 /dev/zero | tr "\\0" x`;
    const running = shop.start(
      shop.mapArgs(script, ["-j", "1", "--retries", "0", "--json", "--backoff", "none"]),
    );
    const untilEvent = (type: string) =>
      until(`the event ${type}`, async () => (await shop.events("--type", type)).length > 0);
    running.stdin.write("1\n");
    await untilEvent("attempt_succeeded");
    fillUp(ballast);
    running.stdin.write("2\n");
    await untilEvent("attempt_released");
    rmSync(ballast);
    shop.write("room", "");
    running.stdin.end("3\n");
    const { code, stdout } = await running.ended;
    expect(JSON.parse(stdout)).toMatchObject({ succeeded: 3, dead: 0 });
    expect(code).toBe(0);
  });
});

ifMounts(`a read-only store${because}`, () => {
  inFile("refuses to run work, but can still be looked at", async () => {
    const shop = openWorkshop();
    await shop.map(upTo(3), "[ $1 != 2 ]", ["--name", "n", "--retries", "0"]);
    makeReadOnly(shop.path("redrive"));
    const refused = await shop.map([4], NOTE, ["--store-wait", "100ms"]);
    expect(refused.code).toBe(75);
    expect(refused.stderr).toMatch(/^redrive: The store .* cannot be written\.\n {2}Check the permissions/);
    expect(shop.ledger).toEqual([]);
    expect((await shop.json<{ jobs: Summary[] }>("jobs")).jobs).toHaveLength(1);
    expect(await shop.json<Summary>("status", "n")).toMatchObject({ succeeded: 2, dead: 1 });
    const [letter] = await shop.letters();
    expect((await shop.run(["dlq", "inspect", letter?.item_id ?? ""])).code).toBe(0);
    expect((await shop.run(["events", "n"])).stdout).toContain("dlq_item_added");
    expect(await shop.check()).toBe(SOUND);
    const retry = await shop.run(["dlq", "retry", "n"]);
    expect(retry.code).toBe(75);
  });

  inFile("that is not there yet cannot be made, and says where", async () => {
    const shop = openWorkshop();
    shop.write("marker", "");
    makeReadOnly(shop.home);
    const { code, stderr } = await shop.map([1], "true");
    expect(code).toBe(75);
    expect(stderr).toContain(shop.storePath);
    expect(stderr).toContain("--store");
  });
});

describe("a store that another process has locked", () => {
  it("is waited for as long as --store-wait, then 75; reading works all the while", async () => {
    const shop = openWorkshop();
    await shop.map([1], NOTE, ["--name", "n"]);
    const unlock = await lock(shop);
    const refused = await shop.map([1, 2], NOTE, ["--name", "n", "--store-wait", "300ms"]);
    expect(refused.code).toBe(75);
    expect(refused.stderr).toMatch(/The store .* was locked by another process/);
    expect(refused.stderr).not.toContain("10 s");
    expect(shop.ledger).toEqual(["1"]);
    expect(await shop.json<Summary>("status", "n")).toMatchObject({ succeeded: 1 });
    await unlock();
    expect((await shop.map([1, 2], NOTE, ["--name", "n"])).code).toBe(0);
    expect(shop.ledger).toEqual(["1", "2"]);
  });

  it("that is released in time is no problem", async () => {
    const shop = openWorkshop();
    await shop.map([1], NOTE, ["--name", "n"]);
    const unlock = await lock(shop);
    const running = shop.start(shop.mapArgs(NOTE, ["--name", "n"]), { stdin: "1\n2\n" });
    setTimeout(unlock, 500);
    expect((await running.ended).code).toBe(0);
    expect(shop.ledger).toEqual(["1", "2"]);
  });
});

describe("a store that cannot be read", () => {
  it("random bytes are no database: nothing is overwritten", async () => {
    const shop = openWorkshop();
    const bytes = Buffer.from(Array.from({ length: 8192 }, (_, index) => (index * 7919) % 251));
    const path = shop.write("noise.db", bytes);
    for (const args of [["jobs"], ["dlq", "list"], ["store", "check"], ["store", "info"]]) {
      const { code, stderr } = await shop.run([...args, "--store", `sqlite:${path}`]);
      expect(code).toBe(75);
      expect(stderr).toContain("is not a Redrive store: the file is not a SQLite database");
    }
    const map = await shop.run(["map", "--store", `sqlite:${path}`, "--", "true"], { stdin: "1\n" });
    expect(map.code).toBe(75);
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  it("another program's database is not taken for a store", async () => {
    const shop = openWorkshop();
    const path = shop.path("other.db");
    const db = new DatabaseSync(path);
    db.exec("CREATE TABLE customers (id INTEGER); PRAGMA user_version = 1");
    db.close();
    const { code, stderr } = await shop.run(["jobs", "--store", `sqlite:${path}`]);
    expect(code).toBe(75);
    expect(stderr).toContain("is not a Redrive store");
  });

  inFile("a store of a newer version is left alone", async () => {
    const shop = openWorkshop();
    await shop.map([1], "true");
    const db = new DatabaseSync(shop.storePath);
    db.exec("PRAGMA user_version = 99");
    db.close();
    const { code, stdout } = await shop.run(["jobs", "--json"]);
    expect(code).toBe(75);
    const { error } = JSON.parse(stdout) as ErrorJson;
    expect(error.code).toBe("store_newer");
    expect(error.message).toMatch(/has schema version 99, but this version of Redrive supports \d+/);
    expect(error.hint).toBe("Install a newer version of Redrive.");
  });

  inFile("a damaged page inside the file is found by store check, which says what is wrong", async () => {
    const shop = openWorkshop();
    const padded = upTo(400).map((n) => `${n}${"x".repeat(2000)}`); // most pages are items', not the schema's
    await shop.map(padded, "true", ["--name", "n"]);
    copyFileSync(shop.storePath, shop.path("whole.db"));
    scribble(shop.storePath);
    const { code, stdout, stderr } = await shop.run(["store", "check"]);
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(/integrity: |is damaged/);
    expect(stdout).not.toBe(SOUND);
    copyFileSync(shop.path("whole.db"), shop.storePath);
    expect(await shop.check()).toBe(SOUND);
  });

  inFile("a row that breaks an invariant is found by store check, by name", async () => {
    const shop = openWorkshop();
    await shop.map([{ id: "x" }], "false", ["--id-field", "id", "--retries", "0"]);
    const db = new DatabaseSync(shop.storePath);
    db.exec("PRAGMA foreign_keys = OFF; DELETE FROM letters");
    db.close();
    const { code, stdout } = await shop.run(["store", "check"]);
    expect(code).toBe(1);
    expect(stdout).toContain("dead item x has no letter");
  });

  it("a folder in the place of the store is reported as one", async () => {
    const shop = openWorkshop();
    const { code, stderr } = await shop.run(["jobs", "--store", `sqlite:${shop.home}`]);
    expect(code).toBe(75);
    expect(stderr).toContain("cannot be opened");
  });
});

/** Holds the write lock until the returned function is called. */
async function lock(shop: Workshop): Promise<() => Promise<void>> {
  const writeLock = await openWriteLock(shop);
  await writeLock.take();
  let closed: Promise<void> | undefined;
  const unlock = () => {
    closed ??= writeLock.close();
    return closed;
  };
  onTestFinished(unlock);
  return unlock;
}

/** Damages the second half of the file, page by page, behind the page headers. */
function scribble(path: string): void {
  const { size } = statSync(path);
  const fd = openSync(path, "r+");
  for (let page = Math.floor(size / 8192); page * 4096 < size; page += 1) {
    writeSync(fd, Buffer.alloc(600, 0xa5), 0, 600, page * 4096 + 5);
  }
  closeSync(fd);
}
