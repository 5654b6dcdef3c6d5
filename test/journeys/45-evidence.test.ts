/** Evidence over time: omitted files are reported, and unreferenced copies are deleted. */
import { existsSync, renameSync, rmSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { openWorkshop, upTo, type Workshop } from "./workshop.ts";

type FileJson = { readonly path: string; readonly kept?: string; readonly problem?: string };
type MaintainJson = { readonly evidence_deleted?: number };

/** Fails items that name their own files as evidence, and returns where the copies are. */
async function fail(
  shop: Workshop,
  items: readonly string[],
  ...flags: string[]
): Promise<readonly string[]> {
  for (const item of items) shop.write(item, `what ${item} looked like`);
  const named = JSON.stringify({ evidence: ["NAME"] }).replace("NAME", "'\"$1\"'");
  const script = `printf '%s' '${named}' > "$REDRIVE_FAILURE_FILE"; exit 1`;
  const { code } = await shop.map(items, script, ["--keep-evidence", "--retries", "0", ...flags]);
  expect(code).toBe(3);
  const store = flags.includes("--store")
    ? flags.slice(flags.indexOf("--store"), flags.indexOf("--store") + 2)
    : [];
  const letters = await shop.letters(...store);
  const files = letters.flatMap(
    ({ failure_history }) => (failure_history[0]?.evidence ?? []) as unknown as FileJson[],
  );
  return items.map((item) => files.find(({ path }) => path === shop.path(item))?.kept ?? "");
}

/** Old enough that nobody can have named them recently. */
function age(paths: readonly string[], days: number): void {
  const then = new Date(Date.now() - days * 86_400_000);
  for (const path of paths) utimesSync(path, then, then);
}

const maintain = (shop: Workshop, ...flags: string[]) => shop.run(["dlq", "maintain", ...flags]);
const swept = async (shop: Workshop, ...flags: string[]) =>
  (await maintain(shop, "--json", ...flags)).json<MaintainJson>().evidence_deleted ?? 0;
const purge = async (shop: Workshop, item: string, ...flags: string[]) => {
  const { code } = await shop.run(["dlq", "purge", "--filter", `item == "${item}"`, "--yes", ...flags]);
  expect(code).toBe(0);
};

describe("evidence", () => {
  it("beyond fifty files of one attempt is omitted, and the letter has their number", async () => {
    const shop = openWorkshop();
    const names = upTo(60).map((n) => `shot-${n}`);
    for (const name of names) shop.write(name, name);
    const report = JSON.stringify({ evidence: names });
    await shop.map(["a"], `printf '%s' '${report}' > "$REDRIVE_FAILURE_FILE"; exit 1`, ["--retries", "0"]);
    const [letter] = await shop.letters();
    const files = letter?.failure_history[0]?.evidence as unknown as FileJson[];
    expect(files).toHaveLength(51);
    expect(files.at(-1)).toMatchObject({ path: shop.path("shot-51") });
    const { stdout } = await shop.run(["dlq", "evidence", letter?.item_id ?? ""]);
    expect(stdout).toMatch(/shot-51 \(was left out with 9 more: at most 50 files per attempt are recorded/);
  });

  it("that a letter names is kept forever, and unreferenced copies are deleted once they are old", async () => {
    const shop = openWorkshop();
    const [named = "", purged = "", young = ""] = await fail(shop, ["named", "purged", "young"]);
    age([named, purged], 31);
    expect(await swept(shop)).toBe(0);
    for (const item of ["purged", "young"]) await purge(shop, item);
    const dry = await maintain(shop, "--dry-run");
    expect(dry.stdout).toMatch(/^Would delete 1 evidence copy .*, 23 bytes\.$/m);
    expect(existsSync(purged)).toBe(true);
    const { stdout } = await maintain(shop);
    expect(stdout).toMatch(/^All letters are within the limits\.\nDeleted 1 evidence copy .*, 23 bytes\.\n$/);
    expect([named, purged, young].map((path) => existsSync(path))).toEqual([true, false, true]);
    expect(await swept(shop)).toBe(0);
  });

  it("of an imported letter is kept as well", async () => {
    const shop = openWorkshop();
    const [kept = ""] = await fail(shop, ["a"]);
    await shop.run(["dlq", "export", "letters.json"]);
    await purge(shop, "a");
    expect((await shop.run(["dlq", "import", "letters.json"])).code).toBe(0);
    age([kept], 31);
    expect(await swept(shop)).toBe(0);
    expect(existsSync(kept)).toBe(true);
  });

  it("of one store is not deleted by another one that shares the home", async () => {
    const shop = openWorkshop();
    const other = ["--store", `sqlite:${shop.path("other.db")}`];
    const [mine = ""] = await fail(shop, ["same"]);
    const [theirs = ""] = await fail(shop, ["same"], ...other);
    expect(dirname(dirname(theirs))).not.toBe(dirname(dirname(mine)));
    age([mine, theirs], 31);
    await purge(shop, "same", ...other);
    expect(await swept(shop)).toBe(0);
    expect(await swept(shop, ...other)).toBe(1);
    expect([existsSync(mine), existsSync(theirs)]).toEqual([true, false]);
  });

  it("that a killed sweep had moved aside is put back if it is named, and is deleted if it is not", async () => {
    const shop = openWorkshop();
    const [named = "", purged = ""] = await fail(shop, ["named", "purged"]);
    await purge(shop, "purged");
    age([named, purged], 31);
    for (const path of [named, purged]) renameSync(path, `${path}.going`);
    expect(await swept(shop)).toBe(1);
    expect(statSync(named).isFile()).toBe(true);
    expect([purged, `${purged}.going`, `${named}.going`].some((path) => existsSync(path))).toBe(false);
  });

  it("that cannot be read is reported, and the letters are maintained all the same", async () => {
    const shop = openWorkshop();
    const [kept = ""] = await fail(shop, ["a"]);
    const folder = dirname(kept);
    rmSync(folder, { recursive: true });
    symlinkSync(folder, folder); // leads to itself, so that nobody can read it, not even root
    const { code, stdout, stderr } = await maintain(shop);
    expect(code).toBe(0);
    expect(stdout).toBe("All letters are within the limits.\n");
    expect(stderr).toMatch(/Not all evidence copies could be checked: ELOOP/);
  });
});
