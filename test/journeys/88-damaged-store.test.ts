/** A damaged store file: `store check` reports the damage and what can be read, and `store salvage` saves it into a sound store. */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { findDamage, salvageStore } from "../../src/engines/open.ts";
import { useProcesses } from "../support/cli.ts";
import { ON_POSTGRES, openWorkshop, upTo, type Workshop } from "./workshop.ts";

useProcesses();

const PAGE_BYTES = 4096;
const inFile = it.skipIf(ON_POSTGRES);

inFile("what can be read of a damaged store is listed by the check and saved by salvage", async () => {
  const shop = await shopWithLetters();
  const attempts = await rootPage(shop, "attempts");
  const damaged = damage(shop, [attempts]);
  const check = await shop.run(["store", "check", "--json", "--store", damaged]);
  expect(check.code).toBe(1);
  const report = JSON.parse(check.stdout);
  expect(report.ok).toBe(false);
  expect(report.problems.length).toBeGreaterThan(0);
  expect(report.readable).toContainEqual({ table: "items", rows: 60, gaps: 0 });
  const text = await shop.run(["store", "check", "--store", damaged]);
  expect(text.stdout).toContain(`redrive store salvage ${damaged} sqlite:`);

  const saved = `sqlite:${shop.path("saved.db")}`;
  const salvage = await shop.run(["store", "salvage", damaged, saved, "--json"]);
  expect(salvage.code).toBe(0);
  expect(JSON.parse(salvage.stdout)).toMatchObject({ ok: true, lost_items: 0, problems: [] });
  const again = await shop.run(["store", "salvage", damaged, saved]);
  expect(again.code).toBe(5);
  expect((await shop.run(["store", "check", "--store", saved])).code).toBe(0);
  const letters = await shop.run(["dlq", "list", "--json", "--store", saved]);
  expect(JSON.parse(letters.stdout).total).toBe(30);
});

inFile(
  "whichever page is damaged, the salvaged store is sound and nothing is reported by a crash",
  async () => {
    const shop = await shopWithLetters();
    const pages = pagesOf(shop);
    let saved = 0;
    for (let page = 0; page < pages; page += 11) {
      const damaged = damage(shop, [page, (page * 7) % pages]);
      await findDamage(damaged);
      const to = `sqlite:${shop.path(`saved-${page}.db`)}`;
      const report = await salvageStore(damaged, to).catch((error: unknown) => error);
      if (report instanceof Error) expect(report, `page ${page}`).toMatchObject({ code: "store_corrupt" });
      else {
        expect(report, `page ${page}`).toMatchObject({ problems: [] });
        saved += 1;
      }
      expect(existsSync(shop.path(`saved-${page}.db.partial`))).toBe(false);
    }
    expect(saved).toBeGreaterThan(pages / 22);
  },
);

async function shopWithLetters(): Promise<Workshop> {
  const shop = openWorkshop();
  const script = 'head -c 600 /dev/zero | tr "\\0" x >&2; exit $(( $1 % 2 ))';
  await shop.run(
    ["map", "--name", "m", "--retries", "1", "--backoff", "fixed:1ms", "--", "sh", "-c", script, "sh", "{}"],
    {
      stdin: upTo(60).join("\n"),
    },
  );
  return shop;
}

function pagesOf(shop: Workshop): number {
  return readFileSync(shop.path("redrive/redrive.db")).length / PAGE_BYTES;
}

/** The number of the first page of a table, counted from 0. */
async function rootPage(shop: Workshop, table: string): Promise<number> {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  const db = new DatabaseSync(shop.path("redrive/redrive.db"), { readOnly: true });
  const row = db.prepare(`SELECT rootpage AS page FROM sqlite_master WHERE name = ?`).get(table);
  db.close();
  return Number(Reflect.get(row ?? {}, "page")) - 1;
}

/** The URL of a copy in which these pages begin with garbage. */
function damage(shop: Workshop, pages: readonly number[]): string {
  const path = shop.path(`damaged-${pages.join("-")}.db`);
  copyFileSync(shop.path("redrive/redrive.db"), path);
  const bytes = readFileSync(path);
  for (const page of pages) bytes.fill(0xa5, page * PAGE_BYTES, page * PAGE_BYTES + 200);
  writeFileSync(path, bytes);
  return `sqlite:${path}`;
}
