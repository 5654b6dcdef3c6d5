/**
 * A store is copied from a file to a PostgreSQL server and back, with kills on the way, and work continues there.
 */
import { existsSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { writeVersion2 } from "../engines/sqlite/version-2.ts";
import { askPostgres } from "../support/postgres-stores.ts";
import { until } from "../support/until.ts";
import { importLetters } from "./killed-bulk.ts";
import {
  type ErrorJson,
  newPostgresStore,
  openWorkshop,
  SOUND,
  type Summary,
  upTo,
  type Workshop,
} from "./workshop.ts";
import { lockOnServer } from "./write-lock.ts";

const FAIL_ODD = 'echo "$1" >> $L; [ $(( $1 % 2 )) = 0 ] || { echo "no $1" >&2; exit 3; }';

interface CopyJson {
  readonly ok: boolean;
  readonly how: string;
  readonly copied: number;
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly digest: string }[];
}

/** The output for a person; ages change meanwhile. */
async function looks(shop: Workshop, store: string): Promise<unknown> {
  const ask = async (...args: string[]) => {
    const { stdout } = await shop.run([...args, "--json", "--store", store]);
    return JSON.parse(stdout.replace(/"oldest_age_seconds": \d+/g, '"oldest_age_seconds": 0')) as unknown;
  };
  return {
    jobs: await ask("jobs"),
    letters: await ask("dlq", "list", "--limit", "1000", "--state", "all"),
    groups: await ask("groups"),
    operations: await ask("ops"),
    events: await ask("events", "--limit", "1000"),
  };
}

describe("store copy", () => {
  it("moves a store to PostgreSQL and back, and everything is there", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const { url } = newPostgresStore();
    const [file, back] = [`sqlite:${shop.storePath}`, `sqlite:${shop.path("back.db")}`];
    await shop.map(upTo(12), FAIL_ODD, ["--name", "numbers", "--retries", "0"]);
    await shop.run(["dlq", "discard", "--job", "numbers", "--yes", "--reason", "no use", "--search", "no 3"]);
    const there = await shop.run(["store", "copy", file, url]);
    expect(there.stderr).toBe(""); // so little is not worth a line
    expect(there.code).toBe(0);
    expect(there.stdout).toMatch(/^items +12 {2}[0-9a-f]{64}$/m);
    expect(there.stdout).toContain("All tables of both stores are equal.");
    const again = (await shop.run(["store", "copy", url, back, "--json"])).json<CopyJson>();
    expect(again).toMatchObject({ ok: true, how: "fresh" });
    expect(again.tables.find(({ table }) => table === "letters")).toMatchObject({ rows: 5 });
    const seen = await looks(shop, file);
    expect(await looks(shop, url)).toEqual(seen);
    expect(await looks(shop, back)).toEqual(seen);
    expect((await shop.run(["store", "check", "--store", url])).stdout).toBe(SOUND);
    expect((await shop.run(["store", "check", "--store", back])).stdout).toBe(SOUND);
  });

  it("lets work continue in the copy", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const { url } = newPostgresStore();
    await shop.map(upTo(6), FAIL_ODD, ["--name", "numbers", "--retries", "0"]);
    await shop.run(["store", "copy", `sqlite:${shop.storePath}`, url]);
    const more = await shop.map([7, 8], FAIL_ODD, [
      "--name",
      "numbers",
      "--retries",
      "0",
      "--json",
      "--store",
      url,
    ]);
    expect(more.json<Summary>()).toMatchObject({ total: 8, succeeded: 4, dead: 4 });
    const retried = await shop.run(["dlq", "retry", "numbers", "--yes", "--json", "--store", url]);
    expect(retried.json()).toMatchObject({ selected: 4, redriven: 4, failed: 4 });
    expect((await shop.run(["store", "check", "--store", url])).stdout).toBe(SOUND);
    const refused = await shop.run(["store", "copy", `sqlite:${shop.storePath}`, url, "--json"]);
    expect(refused.code).toBe(5);
    expect(refused.json<ErrorJson>().error.code).toBe("copy_refused");
  });

  it("continues after kill -9 in the middle", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const { schema, url } = newPostgresStore();
    await importLetters(shop, 3000);
    const from = `sqlite:${shop.storePath}`;
    await shop.run(["store", "migrate", "--store", url]);
    const lock = await lockOnServer(url);
    onTestFinished(() => lock.close());
    await lock.take(); // the copy stops before the events
    const copying = shop.start(["store", "copy", from, url], { stdin: "" });
    await until("some of the items are there", async () => {
      const [found] = await askPostgres<{ n: string }>(`SELECT count(*) AS n FROM ${schema}.items`);
      return Number(found?.n) >= 1000;
    });
    copying.signal("SIGKILL");
    await copying.ended;
    await lock.giveBack();
    const [left] = await askPostgres<{ n: string }>(`SELECT count(*) AS n FROM ${schema}.events`);
    expect(Number(left?.n)).toBeLessThan(3000);
    const again = await shop.run(["store", "copy", from, url, "--json"]);
    expect(again.stderr).toMatch(/^redrive: copied [\d,]+ (attempts|events)$/m);
    expect(again.stderr).toContain("redrive: verified 3,000 items\n");
    const rest = again.json<CopyJson>();
    expect(rest).toMatchObject({ ok: true, how: "resumed" });
    expect(rest.copied).toBeLessThan(rest.tables.reduce((sum, { rows }) => sum + rows, 0));
    expect((await shop.run(["store", "check", "--store", url])).stdout).toBe(SOUND);
    expect((await shop.run(["store", "copy", from, url])).stdout).toContain("complete");
  });

  it("refuses while a job runs, with the next step", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const running = shop.start(shop.mapArgs('echo "$1" >> $L; sleep 60'), { stdin: "1\n" });
    await shop.untilLedger("it has begun", (lines) => lines.length === 1);
    const target = shop.path("copy.db");
    const refused = await shop.run(["store", "copy", `sqlite:${shop.storePath}`, `sqlite:${target}`]);
    expect(refused.code).toBe(5);
    expect(refused.stderr).toMatch(/Process \d+ .*sh-/);
    expect(refused.stderr).toContain("run the same copy again");
    running.signal("SIGKILL");
    await running.ended;
    expect((await shop.run(["store", "copy", `sqlite:${shop.storePath}`, `sqlite:${target}`])).code).toBe(0);
  });

  it("refuses a missing source, and creates none", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const missing = await shop.run(["store", "copy", "sqlite:missing.db", "sqlite:copy.db"]);
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain("There is no store missing.db");
    expect(existsSync(shop.path("missing.db"))).toBe(false);
    const both = await shop.run(["store", "copy", "sqlite:a.db", "sqlite:b.db", "--store", "sqlite:c.db"]);
    expect(both.code).toBe(2);
    expect(both.stderr).toContain("--store");
    expect(both.stderr).toContain("redrive store copy FROM TO");
  });
});

describe("store migrate", () => {
  it("creates a store, and reports that it has the newest version", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const { url } = newPostgresStore();
    for (const store of [`sqlite:${shop.path("new.db")}`, url]) {
      const made = (await shop.run(["store", "migrate", "--json", "--store", store])).json<{ to: number }>();
      expect(made).toMatchObject({ from: 0, migrated: true });
      const again = await shop.run(["store", "migrate", "--store", store]);
      expect(again.stdout).toMatch(new RegExp(`has the newest version, ${made.to}\\.\n$`));
    }
  });

  it("migrates an older store to the newest version, and reports the old one", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const path = shop.path("old.db");
    writeVersion2(path);
    const brought = await shop.run(["store", "migrate", "--store", `sqlite:${path}`]);
    expect(brought.stdout).toMatch(/from version 2 to version [3-9]\.\n$/);
  });
});
