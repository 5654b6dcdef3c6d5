/** Discards, restores, clears and purges letters: in bulk, archived, counted and undone. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/engines/open.ts";
import { asPerson } from "../support/person.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { importLetters, killedInBetween, onlyOpen } from "./killed-bulk.ts";
import {
  type ErrorJson,
  type LetterJson,
  type OperationJson,
  openWorkshop,
  SOUND,
  upTo,
  type Workshop,
} from "./workshop.ts";

type DecisionJson = OperationJson & {
  readonly kind: string;
  readonly job_id: string | null;
  readonly status: string;
  readonly done: number;
  readonly reason?: string;
  readonly undoes?: string;
  readonly dry_run?: boolean;
  readonly groups?: readonly { signature: string; title: string; pattern: string; count: number }[];
  readonly oldest?: string;
  readonly newest?: string;
  readonly archive?: string | null;
};
type ClosedJson = LetterJson & {
  readonly resolution?: { kind: string; author: string; reason?: string; operation_id?: string };
};

/** Letters `p1` to `pn` that always fail, but `p1` fails in another way; they work once `fixed` is there. */
async function letters(shop: Workshop, count = 4, name = "parts"): Promise<void> {
  const script = `test -e ${shop.path("fixed")} && exit 0; test "$REDRIVE_ITEM_ID" = p1 && { echo odd >&2; exit 9; }; echo bad >&2; exit 1`;
  const items = upTo(count).map((n) => ({ id: `p${n}`, n }));
  await shop.map(items, script, ["--name", name, "--id-field", "id", "--retries", "0", "-q"]);
}

async function idsIn(shop: Workshop, state: string): Promise<string[]> {
  return (await shop.letters("--state", state)).map(({ item_id }) => item_id).sort();
}

const operations = async (shop: Workshop) =>
  (await shop.json<{ operations: readonly DecisionJson[] }>("ops", "list")).operations;

const archivedIds = (path: string) =>
  gunzipSync(readFileSync(path))
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).item_id as string);

const decide = (shop: Workshop, ...words: string[]) => shop.json<DecisionJson>("dlq", ...words);

describe("dlq discard and restore", () => {
  it("close letters with a reason and an author, and bring them back", async () => {
    const shop = openWorkshop();
    await letters(shop);
    const args = ["dlq", "discard", "p1", "p2", "--reason", "obsolete", "--json"];
    const discard = (await shop.run(args, { env: { REDRIVE_AUTHOR: "ada" } })).json<DecisionJson>();
    expect(discard).toMatchObject({
      kind: "discard",
      status: "ended",
      selected: 2,
      done: 2,
      refused: 0,
      remaining: 0,
      reason: "obsolete",
    });
    expect(await idsIn(shop, "dead")).toEqual(["p3", "p4"]);
    expect(await shop.json<ClosedJson>("dlq", "inspect", "p1")).toMatchObject({
      state: "discarded",
      resolution: { kind: "discard", author: "ada", reason: "obsolete", operation_id: discard.operation_id },
      failure_count: 1,
    });
    const removed = (await shop.events("--type", "dlq_item_removed")).map(({ item_id, data }) => [
      item_id,
      data?.why,
    ]);
    expect(removed.sort()).toEqual([
      ["p1", "discarded"],
      ["p2", "discarded"],
    ]);
    // A retry of everything does not run discarded letters.
    writeFileSync(shop.path("fixed"), "");
    expect(await decide(shop, "retry")).toMatchObject({ selected: 2, succeeded: 2 });
    expect(await decide(shop, "restore")).toMatchObject({ kind: "restore", selected: 2, done: 2 });
    expect(await idsIn(shop, "dead")).toEqual(["p1", "p2"]);
    expect((await shop.json<ClosedJson>("dlq", "inspect", "p1")).resolution).toBeUndefined();
    expect(await shop.check()).toBe(SOUND);
  });

  it("select by group, CEL and the other options, all that match and not a page of them", async () => {
    const shop = openWorkshop();
    await letters(shop, 45);
    const [odd] = await shop.letters("--search", "odd");
    expect(
      await decide(shop, "discard", "--group", odd?.error_signature ?? "", "--reason", "odd"),
    ).toMatchObject({ done: 1 });
    expect(await decide(shop, "discard", "--filter", "item.n > 3", "--reason", "many")).toMatchObject({
      selected: 42,
      done: 42,
    });
    expect(await idsIn(shop, "dead")).toEqual(["p2", "p3"]);
    expect(await decide(shop, "restore", "--filter", "item.n == 1")).toMatchObject({ selected: 1, done: 1 });
    expect(await idsIn(shop, "dead")).toEqual(["p1", "p2", "p3"]);
    expect(await decide(shop, "discard", "--attempts", "2..", "--reason", "x")).toMatchObject({
      operation_id: null,
      selected: 0,
    });
  });

  it("--dry-run counts, also per group, and changes nothing", async () => {
    const shop = openWorkshop();
    await letters(shop);
    const before = await shop.letters();
    const dry = await decide(shop, "discard", "--reason", "x", "--dry-run");
    expect(dry).toMatchObject({ operation_id: null, kind: "discard", dry_run: true, selected: 4, done: 0 });
    expect(dry.groups?.map(({ count }) => count)).toEqual([3, 1]);
    expect(dry.oldest).toBeDefined();
    const { stdout } = await shop.run(["dlq", "discard", "--reason", "x", "--dry-run"]);
    expect(stdout).toContain("Would discard 4 letters of parts-");
    expect(stdout).toContain(dry.groups?.[0]?.title ?? "?");
    expect([await shop.letters(), await operations(shop)]).toEqual([before, []]);
  });

  it.each([
    ["no reason", ["discard"], 2],
    ["an empty reason", ["discard", "--reason", " "], 2],
    ["a malformed filter", ["discard", "--reason", "x", "--filter", "item.n >"], 2],
    ["a filter that is no condition", ["discard", "--reason", "x", "--filter", "item.n + 1"], 2],
    ["an unknown type", ["discard", "--reason", "x", "--type", "Tiemout"], 2],
    ["a state that it does not work on", ["discard", "--reason", "x", "--state", "resolved"], 2],
    ["an unknown item", ["discard", "p9", "--reason", "x"], 4],
    ["an item that is not discarded", ["restore", "p1"], 5],
    ["a malformed filter of a purge", ["purge", "--yes", "--filter", "item.n ="], 2],
    ["a malformed filter of a clear", ["clear", "--yes", "--filter", "((("], 2],
  ])("%s is an error, and never everything", async (_, words, code) => {
    const shop = openWorkshop();
    await letters(shop, 2);
    const result = await shop.run(["dlq", ...words, "--json"]);
    expect(result.code).toBe(code);
    expect(result.json<ErrorJson>().error.message).not.toBe("");
    expect([await idsIn(shop, "dead"), await operations(shop)]).toEqual([["p1", "p2"], []]);
  });

  it("ask a person if it is more than one, and not with --yes", async () => {
    const shop = openWorkshop();
    await letters(shop);
    const args = ["dlq", "discard", "--reason", "x"];
    const no = await asPerson(args, { home: shop.home, env: shop.env, answers: ["no"] });
    expect([no.code, no.stderr]).toEqual([
      2,
      expect.stringMatching(/Discard 4 letters of parts-\w+\? \[y\/N\]/),
    ]);
    expect(no.stderr).toContain("LETTERS  GROUP");
    expect(await idsIn(shop, "dead")).toHaveLength(4);
    const one = await asPerson([...args, "p1"], { home: shop.home, env: shop.env, answers: [] });
    expect([one.code, one.stderr]).toEqual([0, ""]);
    const unasked = await asPerson([...args, "--yes"], { home: shop.home, env: shop.env, answers: [] });
    expect(unasked.stdout).toMatch(/^Discarded 3 letters of parts-\w+\.\n.*redrive ops undo op-/);
  });
});

describe("dlq clear", () => {
  it("pitfall 2: deletes resolved and discarded letters, and never one that was not retried", async () => {
    const shop = openWorkshop();
    await letters(shop);
    expect(await decide(shop, "clear", "--yes", "parts")).toMatchObject({ selected: 0, done: 0 });
    expect(await idsIn(shop, "dead")).toHaveLength(4);
    await shop.run(["dlq", "discard", "p1", "--reason", "x"]);
    writeFileSync(shop.path("fixed"), "");
    await shop.run(["dlq", "retry", "parts", "p2"]);
    const refused = await shop.run(["dlq", "clear"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--yes to confirm")]);
    const dry = await decide(shop, "clear", "--dry-run");
    expect([dry.selected, await idsIn(shop, "all")]).toEqual([2, ["p1", "p2", "p3", "p4"]]);
    const clear = await decide(shop, "clear", "--yes");
    expect(clear).toMatchObject({ kind: "clear", selected: 2, done: 2, refused: 0 });
    expect(archivedIds(clear.archive ?? "").sort()).toEqual(["p1", "p2"]);
    expect(await idsIn(shop, "all")).toEqual(["p3", "p4"]);
    // The done item is still done, and none of its work is repeated.
    expect(await shop.json("status", "parts")).toMatchObject({ total: 4, succeeded: 1, dead: 2 });
    const dead = await shop.run(["dlq", "clear", "--state", "dead", "--yes"]);
    expect(dead.code).toBe(2);
    expect(await shop.check()).toBe(SOUND);
  });

  it("clears only discarded ones with --state", async () => {
    const shop = openWorkshop();
    await letters(shop, 2);
    await shop.run(["dlq", "discard", "p1", "--reason", "x"]);
    writeFileSync(shop.path("fixed"), "");
    await shop.run(["dlq", "retry", "parts"]);
    expect(await decide(shop, "clear", "--state", "discarded", "--yes", "--no-archive")).toMatchObject({
      done: 1,
      archive: null,
    });
    expect(await idsIn(shop, "all")).toEqual(["p2"]);
    expect(existsSync(shop.path("redrive/dlq/archive"))).toBe(false);
  });
});

describe("dlq purge", () => {
  it.each(["purge", "clear"])("%s never takes its argument for an item", async (command) => {
    const shop = openWorkshop();
    await shop.mapJson([{ id: "orders-17" }], "exit 1", ["--id-field", "id", "--retries", "0"]);
    const selection = command === "purge" ? ["--older-than", "0s"] : [];
    const { code, stderr } = await shop.run(["dlq", command, "orders", ...selection, "--yes"]);
    expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringContaining("orders") });
    expect(await shop.letters()).toHaveLength(1);
  });

  it("archives, deletes, counts, removes the logs, and is undone from the archive", async () => {
    const shop = openWorkshop();
    await letters(shop);
    const before = await shop.letters();
    const logs = () =>
      readdirSync(shop.path(`redrive/logs/${before[0]?.job_id}`)).filter((name) => name.startsWith("p"));
    expect(logs()).toHaveLength(4);
    const purge = await decide(shop, "purge", "--older-than", "0s", "--filter", "item.n != 3", "--yes");
    expect(purge).toMatchObject({ kind: "purge", status: "ended", selected: 3, done: 3, refused: 0 });
    expect(purge.archive).toBe(
      shop.path(`redrive/dlq/archive/${purge.job_id}/${purge.operation_id}.jsonl.gz`),
    );
    expect(archivedIds(purge.archive ?? "").sort()).toEqual(["p1", "p2", "p4"]);
    expect([await idsIn(shop, "all"), logs()]).toEqual([["p3"], ["p3"]]);
    const [event] = await shop.events("--type", "dlq_items_purged");
    expect(event?.data).toMatchObject({ operation_id: purge.operation_id, count: 3 });
    const why = (await shop.events("--type", "dlq_item_removed")).map(({ data }) => data?.why);
    expect(why).toEqual(["purged", "purged", "purged"]);
    const undo = await shop.json<DecisionJson & { imported: number }>(
      "ops",
      "undo",
      purge.operation_id ?? "",
    );
    expect(undo).toMatchObject({
      undoes: purge.operation_id,
      imported: 3,
      done: 3,
      refused: 0,
      archive: purge.archive,
    });
    const sorted = (list: readonly LetterJson[]) =>
      [...list].sort((a, b) => (a.item_id < b.item_id ? -1 : 1));
    expect(sorted(await shop.letters())).toEqual(sorted(before));
    // They are restored: the real command runs again.
    writeFileSync(shop.path("fixed"), "");
    expect(await decide(shop, "retry", "parts")).toMatchObject({ selected: 4, succeeded: 4 });
    expect(await shop.check()).toBe(SOUND);
  });

  it("by age and group, and of other states if they are named", async () => {
    const shop = openWorkshop();
    await letters(shop);
    expect(await decide(shop, "purge", "--older-than", "1h", "--yes")).toMatchObject({
      operation_id: null,
      selected: 0,
    });
    await shop.run(["dlq", "discard", "p4", "--reason", "x"]);
    const [odd] = await shop.letters("--search", "odd");
    const byGroup = await decide(shop, "purge", "--group", odd?.error_signature ?? "", "--yes");
    expect(byGroup).toMatchObject({ selected: 1, done: 1 });
    expect(await idsIn(shop, "all")).toEqual(["p2", "p3", "p4"]);
    expect(await decide(shop, "purge", "--state", "discarded", "--yes")).toMatchObject({ done: 1 });
    expect(await decide(shop, "purge", "--state", "all", "--older-than", "0s", "--yes")).toMatchObject({
      done: 2,
    });
    expect(await idsIn(shop, "all")).toEqual([]);
  });

  it("needs a selection and a confirmation: from a person or by a flag", async () => {
    const shop = openWorkshop();
    await letters(shop);
    const all = await shop.run(["dlq", "purge", "--yes", "--json"]);
    expect([all.code, all.json<ErrorJson>().error.hint]).toEqual([
      2,
      expect.stringContaining("--older-than 30d"),
    ]);
    const unasked = await shop.run(["dlq", "purge", "--older-than", "0s", "--json"]);
    expect([unasked.code, unasked.json<ErrorJson>().error.message]).toEqual([
      2,
      expect.stringContaining("4 letters of parts-"),
    ]);
    const dry = await decide(shop, "purge", "--older-than", "0s", "--dry-run");
    expect(dry).toMatchObject({ dry_run: true, selected: 4, groups: [{ count: 3 }, { count: 1 }] });
    const args = ["dlq", "purge", "--type", "CommandFailed"];
    const no = await asPerson(args, { home: shop.home, env: shop.env, answers: ["n"] });
    expect([no.code, no.stderr]).toEqual([2, expect.stringContaining("The oldest died")]);
    expect(await idsIn(shop, "dead")).toHaveLength(4);
    const yes = await asPerson(args, { home: shop.home, env: shop.env, answers: ["yes"] });
    expect([yes.code, yes.stdout]).toEqual([
      0,
      expect.stringMatching(/^Deleted 4 letters of parts-\w+\.\nArchived in .+\.jsonl\.gz\n/),
    ]);
  });

  it("--no-archive keeps no copy, reports that, and cannot be undone", async () => {
    const shop = openWorkshop();
    await letters(shop, 2);
    const { stdout } = await shop.run(["dlq", "purge", "--older-than", "0s", "--no-archive", "--yes"]);
    expect(stdout).toContain("No copy was kept.");
    expect(existsSync(shop.path("redrive/dlq/archive"))).toBe(false);
    const [purge] = await operations(shop);
    const undo = await shop.run(["ops", "undo", purge?.operation_id ?? ""]);
    expect([undo.code, undo.stderr]).toEqual([5, expect.stringContaining("it has no archive")]);
  });

  it("without a selection and without letters there is nothing to do; two jobs with letters are listed", async () => {
    const shop = openWorkshop();
    const empty = await shop.run(["dlq", "purge", "--older-than", "30d", "--yes"]);
    expect([empty.code, empty.stdout]).toEqual([0, "No letters match.\n"]);
    await letters(shop, 1, "one");
    await letters(shop, 1, "two");
    const both = await shop.run(["dlq", "purge", "--older-than", "0s", "--yes", "--json"]);
    expect([both.code, both.json<ErrorJson>().error.code]).toEqual([2, "ambiguous"]);
    expect(await decide(shop, "purge", "one", "--older-than", "0s", "--yes")).toMatchObject({ done: 1 });
    expect((await shop.letters()).map(({ job_id }) => job_id.split("-")[0])).toEqual(["two"]);
  });
});

describe("ops undo", () => {
  it("undoes a discard and a restore; not a redrive, and nothing that does not exist", async () => {
    const shop = openWorkshop();
    await letters(shop, 3);
    const discard = await decide(shop, "discard", "--reason", "too old");
    const back = await shop.json<DecisionJson>("ops", "undo", discard.operation_id ?? "");
    expect(back).toMatchObject({ kind: "restore", undoes: discard.operation_id, selected: 3, done: 3 });
    expect(await idsIn(shop, "dead")).toHaveLength(3);
    const forth = await shop.json<DecisionJson>("ops", "undo", back.operation_id ?? "");
    expect(forth).toMatchObject({ kind: "discard", reason: "too old", done: 3 });
    await shop.run(["dlq", "restore", "p1"]);
    const partly = await shop.run(["ops", "undo", forth.operation_id ?? ""]);
    expect([partly.code, partly.stdout]).toEqual([3, expect.stringContaining("2 letters of parts-")]);
    expect(partly.stdout).toContain("1 refused");
    const retry = await decide(shop, "retry", "parts");
    const redrive = await shop.run(["ops", "undo", retry.operation_id ?? "", "--json"]);
    expect([redrive.code, redrive.json<ErrorJson>().error.message]).toEqual([
      5,
      expect.stringContaining("cannot be undone"),
    ]);
    expect((await shop.run(["ops", "undo", "op-none"])).code).toBe(4);
  });

  it("asks a person if it is more than one letter", async () => {
    const shop = openWorkshop();
    await letters(shop, 2);
    const { operation_id } = await decide(shop, "discard", "--reason", "x");
    const no = await asPerson(["ops", "undo", operation_id ?? ""], {
      home: shop.home,
      env: shop.env,
      answers: ["n"],
    });
    expect([no.code, no.stderr]).toEqual([
      2,
      expect.stringContaining("Undo the discard of 2 letters of parts-"),
    ]);
    expect(await idsIn(shop, "dead")).toEqual([]);
    const yes = await asPerson(["ops", "undo", operation_id ?? "", "-y"], {
      home: shop.home,
      env: shop.env,
      answers: [],
    });
    expect([yes.code, yes.stderr, yes.stdout]).toEqual([0, "", expect.stringContaining("the discard op-")]);
    expect(await idsIn(shop, "dead")).toHaveLength(2);
  });
});

describe("the resolution of a letter", () => {
  it("is recorded: requeue, manual fix, discard", async () => {
    const shop = openWorkshop();
    await letters(shop, 3);
    await shop.run(["dlq", "edit", "p2", "--patch", '{"n": 20}']);
    await shop.run(["dlq", "discard", "p3", "--reason", "duplicate"]);
    writeFileSync(shop.path("fixed"), "");
    await shop.run(["dlq", "retry", "parts"]);
    const closed = (await shop.letters("--state", "resolved,discarded")) as readonly ClosedJson[];
    expect(Object.fromEntries(closed.map((one) => [one.item_id, one.resolution?.kind]))).toEqual({
      p1: "requeue",
      p2: "manual_fix",
      p3: "discard",
    });
  });
});

describe("thousands of letters, and the command is killed", () => {
  it("a discard continues with ops resume, and nothing is done twice", async () => {
    const shop = openWorkshop();
    await importLetters(shop, 3000);
    const left = await killedInBetween(shop, ["dlq", "discard", "--reason", "old", "--yes"]);
    expect(left).toMatchObject({ kind: "discard", selected: 3000, refused: 0 });
    expect(left.done).toBeLessThan(3000);
    // Letters that are restored or arrive meanwhile are not touched by the resumed operation.
    await shop.run(["dlq", "restore", "o1"]);
    const ended = await shop.json<DecisionJson>("ops", "resume", left.id);
    expect(ended).toMatchObject({ status: "ended", selected: 3000, done: 3000, refused: 0, remaining: 0 });
    expect(await idsIn(shop, "dead")).toEqual(["o1"]);
    const counted = (await shop.events("--type", "dlq_items_discarded")).map(({ data }) =>
      Number(data?.count),
    );
    expect(counted.reduce((sum, count) => sum + count, 0)).toBe(3000);
    expect(await shop.check()).toBe(SOUND);
  });

  it("a killed purge is finished by the next one, which leaves no lock", async () => {
    const shop = openWorkshop();
    await importLetters(shop, 300);
    const purge = ["dlq", "purge", "--older-than", "0s", "--yes"];
    const left = await killedInBetween(shop, purge);
    expect(left).toMatchObject({ kind: "purge", selected: 300, refused: 0 });
    expect((await shop.run(purge)).code).toBe(0);
    expect(await isOpen(shop)).toBe(false);
    expect(await countIn(shop, "dead")).toBe(0);
    const folder = shop.path("redrive/dlq/archive/orders");
    expect(readdirSync(folder).filter((name) => name.endsWith(".lock"))).toEqual([]);
    expect(archivedIds(join(folder, `${left.id}.jsonl.gz`))).toEqual(upTo(300).map((n) => `o${n}`));
    expect(await shop.check()).toBe(SOUND);
  });

  it("a purge that is killed repeatedly loses nothing and archives nothing twice", async () => {
    const shop = openWorkshop();
    await importLetters(shop, 3000);
    const random = seededRandom(7);
    const folder = shop.path("redrive/dlq/archive/orders");
    const archiveBytes = () => {
      const [name] = existsSync(folder) ? readdirSync(folder).filter((one) => one.endsWith(".gz")) : [];
      return name === undefined ? 0 : statSync(join(folder, name)).size;
    };
    const first = await killedInBetween(shop, ["dlq", "purge", "--older-than", "0s", "--yes"]);
    for (let kills = 0; kills < 4; kills += 1) {
      const going = shop.start(["ops", "resume", first.id, "-q"], { stdin: "" });
      const enough = archiveBytes() + Math.floor(random() * 20_000);
      await until(
        "the archive has grown, or it is over",
        async () => archiveBytes() > enough || !(await isOpen(shop)),
      );
      going.signal("SIGKILL");
      await going.ended;
      if (!(await isOpen(shop))) break;
      const { selected, done, refused } = await onlyOpen(shop);
      expect(selected).toBe(3000);
      expect(done + refused).toBeLessThanOrEqual(3000);
      expect(await countIn(shop, "dead")).toBe(3000 - done);
    }
    if (await isOpen(shop)) await shop.run(["ops", "resume", first.id]);
    const [purge] = await operations(shop);
    expect(purge).toMatchObject({ status: "ended", selected: 3000, done: 3000, refused: 0, remaining: 0 });
    const ids = archivedIds(join(folder, `${first.id}.jsonl.gz`));
    expect(ids).toEqual(upTo(3000).map((n) => `o${n}`));
    expect(await countIn(shop, "dead")).toBe(0);
    const undo = await shop.json<{ imported: number }>("ops", "undo", first.id);
    expect([undo.imported, await countIn(shop, "dead")]).toEqual([3000, 3000]);
    expect(await shop.check()).toBe(SOUND);
  });
});

async function isOpen(shop: Workshop): Promise<boolean> {
  const engine = await openStore(shop.storeUrl);
  const open = await engine.listOperations({ open: true });
  await engine.close();
  return open.length > 0;
}

async function countIn(shop: Workshop, state: "dead"): Promise<number> {
  const engine = await openStore(shop.storeUrl);
  const { total } = await engine.listLetters({ states: [state], limit: 0 });
  await engine.close();
  return total;
}
