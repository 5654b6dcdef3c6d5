/** Ways in which systems like this one have lost their users' work. Each is tried here, and nothing is lost. */
import { existsSync, readdirSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/until.ts";
import { killedInBetween, importLetters as takeIn } from "./killed-bulk.ts";
import {
  asJsonLines,
  isAlive,
  type LetterJson,
  type LetterPageJson,
  type OperationJson,
  openWorkshop,
  SOUND,
  type Summary,
  upTo,
  type Workshop,
} from "./workshop.ts";
import { openWriteLock } from "./write-lock.ts";

const ONE = ["--retries", "0", "--name", "n"];
const BY_ID = [...ONE, "--id-field", "id"];
const mended = (shop: Workshop) => `[ -e ${shop.path("mended")} ]`;
const dataOf = (letters: readonly LetterJson[]) => letters.map(({ item_data }) => item_data);

describe("a failure that the store cannot write", () => {
  it("pitfall 9: loses no item: it stays in the job, and is a letter when the store can be written again", async () => {
    const shop = openWorkshop();
    const script = `echo "$1" >> $L; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done; echo broken >&2; exit 7`;
    const running = shop.start(shop.mapArgs(script, ["--store-wait", "300ms", ...ONE]), {
      stdin: asJsonLines(["only"]),
    });
    await shop.untilLedger("it runs", (lines) => lines.length === 1);
    const lock = await openWriteLock(shop);
    onTestFinished(() => lock.close());
    await lock.take();
    shop.write("gate", "");
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([75, expect.stringContaining("locked by another process")]);
    await lock.giveBack();
    expect(await shop.json<Summary>("status", "n")).toMatchObject({ total: 1, dead: 0, remaining: 1 });
    expect((await shop.run(["resume", "n"])).code).toBe(3);
    const [letter, ...others] = await shop.letters();
    expect([letter?.item_data, others]).toEqual(["only", []]);
    expect(letter?.failure_history.at(-1)).toMatchObject({ exit_code: 7, stderr_tail: "broken\n" });
    expect(await shop.check()).toBe(SOUND);
  });
});

describe("a worker that crashes", () => {
  it("pitfall 10: removes no item from the totals, whichever of them dies", async () => {
    const shop = openWorkshop();
    const script = `echo "$1 $$" >> $L; case $1 in self) kill -9 $$;; bad) exit 3;; slow) [ -e ${shop.path("gate")} ] || exec sleep 300;; esac`;
    const items = ["fine", "self", "bad", "slow", "later"];
    const running = shop.start(shop.mapArgs(script, ["-j", "1", ...ONE]), { stdin: asJsonLines(items) });
    await shop.untilLedger("the fourth runs", (lines) => lines.length === 4);
    const whole = { total: 5, succeeded: 1, dead: 2, skipped: 0, remaining: 2 };
    // The fourth may start before the end of the third is recorded.
    await until("the third is a letter", async () => (await shop.json<Summary>("status", "n")).dead === 2);
    expect(await shop.json<Summary>("status", "n")).toMatchObject(whole);
    running.signal("SIGKILL");
    await running.ended;
    await until("its command is gone", () => shop.ledger.every((line) => !isAlive(pidIn(line))));
    expect(await shop.json<Summary>("status", "n")).toMatchObject(whole);
    shop.write("gate", "");
    const resumed = (await shop.run(["resume", "n", "--no-dlq", "--json"])).json<Summary>();
    expect(resumed).toMatchObject({ total: 5, succeeded: 3, dead: 2, skipped: 0, remaining: 0 });
    expect(dataOf(await shop.letters()).sort()).toEqual(["bad", "self"]);
    expect(await shop.events("--type", "attempt_lost")).toHaveLength(1);
    expect(await shop.check()).toBe(SOUND);
  });
});

const pidIn = (line: string) => Number(line.split(" ")[1]);

describe("the identity of a letter", () => {
  it("pitfall 25: is its content: letters and their retries mean the same work when the input has changed", async () => {
    const shop = openWorkshop();
    const script = `echo "$1" >> $L; case $1 in bad*) ${mended(shop)};; esac`;
    await shop.map(["one", "bad two", "three", "bad four"], script, ONE);
    const before = await shop.letters();
    await shop.map(["new", "bad four", "also new", "one", "bad two"], script, ONE);
    expect(await shop.letters()).toEqual(before);
    expect(dataOf(before).sort()).toEqual(["bad four", "bad two"]);
    shop.write("mended", "");
    const ran = shop.ledger.length;
    const [letter] = before.filter(({ item_data }) => item_data === "bad two");
    await shop.run(["dlq", "retry", "n", letter?.item_id ?? "", "--quiet"]);
    expect(shop.ledger.slice(ran)).toEqual(["bad two"]);
    expect(dataOf(await shop.letters())).toEqual(["bad four"]);
  });

  it("pitfall 53: an item with the same key, in the job or in another, neither replaces nor removes a letter", async () => {
    const shop = openWorkshop();
    const script = mended(shop);
    await shop.map([{ id: "a", v: 1 }], script, BY_ID);
    await shop.map([{ id: "a", v: 9 }], "exit 3", ["--retries", "0", "--name", "other", "--id-field", "id"]);
    const exported = shop.path("letters.json");
    await shop.run(["dlq", "export", exported, "--job", "n"]);
    // The same key is added again while its letter waits.
    await shop.map([{ id: "a", v: 2 }, { id: "b" }], script, BY_ID);
    const [letter] = (await shop.letters("n")).filter(({ item_id }) => item_id === "a");
    expect(letter).toMatchObject({ item_data: { id: "a", v: 1 }, failure_count: 1 });
    shop.write("mended", "");
    expect((await shop.json<OperationJson>("dlq", "retry", "n", "a")).succeeded).toBe(1);
    expect(await shop.letters("other")).toMatchObject([{ item_id: "a", item_data: { id: "a", v: 9 } }]);
    // Now the key is that of a done item: the letter is not imported over it, and that is reported.
    const imported = await shop.json<{ imported: number; existing: number }>("dlq", "import", exported);
    expect(imported).toMatchObject({ imported: 0, existing: 1 });
    expect(await shop.json<Summary>("status", "n")).toMatchObject({ total: 2, succeeded: 1, dead: 1 });
    expect(await shop.check()).toBe(SOUND);
  });

  it("pitfall 50: each letter is run with its own data, in bulk, after an edit of all, and in any order", async () => {
    const shop = openWorkshop();
    const items = upTo(40).map((n) => ({ id: `i${n}`, n }));
    const script = `${mended(shop)} || exit 3; echo "$REDRIVE_ITEM_ID $1" >> $L`;
    await shop.map(items, script, [...BY_ID, "-j", "4"]);
    await shop.run(["dlq", "edit", "--job", "n", "--set", "twice=item.n * 2", "--yes"]);
    shop.write("mended", "");
    expect(await shop.json<OperationJson>("dlq", "retry", "n", "--parallel", "4")).toMatchObject({
      selected: 40,
      succeeded: 40,
    });
    const wanted = items.map(({ id, n }) => `${id} ${JSON.stringify({ id, n, twice: n * 2 })}`);
    expect([...shop.ledger].sort()).toEqual(wanted.sort());
  });
});

describe("the letter directory", () => {
  it("pitfall 26: its index is not written for each letter, and no reader ever sees half a file", async () => {
    const shop = openWorkshop();
    const count = 600;
    const running = shop.start(shop.mapArgs('echo "no $1" >&2; exit 3', ["-j", "1", ...ONE]), {
      stdin: asJsonLines(upTo(count)),
    });
    let ended = false;
    void running.ended.then(() => {
      ended = true;
    });
    await running.until("the folder is there", () => folderOf(shop) !== null);
    const folder = folderOf(shop) ?? "";
    let indexes = 0;
    const watcher = watch(folder, (_, name) => {
      if (name === "index.json") indexes += 1;
    });
    onTestFinished(() => watcher.close());
    let looks = 0;
    await until("it has ended", () => {
      const index = readWhole(join(folder, "index.json"));
      const [name] = existsSync(join(folder, "items"))
        ? readdirSync(join(folder, "items")).filter((one) => !one.startsWith("."))
        : [];
      if (name !== undefined) readWhole(join(folder, "items", name));
      if (index !== null) looks += 1;
      return ended;
    });
    expect((await running.ended).code).toBe(3);
    expect(looks).toBeGreaterThan(0);
    expect(indexes).toBeLessThan(count / 10);
    expect(readWhole(join(folder, "index.json"))).toMatchObject({ item_count: count });
    expect(readdirSync(folder).sort()).toEqual(["index.json", "items", "metrics.json", "patterns.json"]);
  });
});

/** The folder of the only job. */
function folderOf(shop: Workshop): string | null {
  const root = shop.path(`redrive/dlq/${shop.home.split("/").at(-1)}`);
  const [job] = existsSync(root) ? readdirSync(root) : [];
  const folder = job === undefined ? "" : join(root, job, "mapreduce", "dlq", job);
  return existsSync(folder) ? folder : null;
}

/** Throws if a file is incomplete. */
function readWhole(path: string): unknown {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null;
}

describe("more letters than a job keeps", () => {
  it("pitfall 54: past 10,000 the oldest are archived, and an event, a count and the command report it", async () => {
    const shop = openWorkshop();
    await takeIn(shop, 10_003);
    const { stdout } = await shop.run(["dlq", "maintain"]);
    expect(stdout).toContain("orders: archived 3 letters");
    const archive = /^ {2}(\/\S+\.jsonl\.gz)$/m.exec(stdout)?.[1] ?? "";
    const kept = gunzipSync(readFileSync(archive)).toString().trim().split("\n");
    expect(kept.map((line) => (JSON.parse(line) as LetterJson).item_id)).toEqual(["o1", "o2", "o3"]);
    expect((await shop.json<LetterPageJson>("dlq", "list", "--limit", "1")).total).toBe(10_000);
    const [event] = await shop.events("--type", "dlq_items_evicted");
    expect(event?.data).toMatchObject({ count: 3 });
    expect(await shop.json("dlq", "stats", "orders")).toMatchObject({ jobs: [{ size: 10_000, evicted: 3 }] });
  });
});

describe("failures that arrive during a decision about others", () => {
  it("pitfall 55: are not included in a discard that continues after them", async () => {
    const shop = openWorkshop();
    await takeIn(shop, 3000);
    const operation = await killedInBetween(shop, ["dlq", "discard", "--reason", "old", "--yes"]);
    const [sample] = (await shop.json<LetterPageJson>("dlq", "list", "--limit", "1")).items;
    const late = ["late1", "late2"].map((item_id) => ({ ...sample, item_id }));
    await shop.run(["dlq", "import", "-"], { stdin: asJsonLines(late) });
    const resumed = await shop.json<OperationJson>("ops", "resume", operation.id);
    expect(resumed).toMatchObject({ selected: 3000, done: 3000, refused: 0 });
    expect((await shop.letters()).map(({ item_id }) => item_id).sort()).toEqual(["late1", "late2"]);
    expect(await shop.check()).toBe(SOUND);
  });
});

describe("--json", () => {
  /** Every command on letters and operations, with valid and invalid arguments. */
  const LINES = [
    "dlq list",
    "dlq list nobody",
    "dlq list --sort upward",
    "dlq inspect a",
    "dlq inspect",
    "dlq show n",
    "dlq show nobody",
    "dlq analyze",
    "dlq analyze --export /nowhere/at/all.json",
    "dlq stats",
    "dlq stats nobody",
    "dlq retry --dry-run",
    "dlq retry n a",
    "dlq retry n --rate fast",
    "dlq retry n --workflow nowhere.yml",
    "dlq edit a --set v=2",
    "dlq edit a --set v=2 --dry-run",
    "dlq edit a --set v=(",
    "dlq edit a --patch {",
    "dlq fix",
    "dlq note a seen",
    "dlq note a",
    "dlq discard b --reason x",
    "dlq discard b --reason x --dry-run",
    "dlq discard b",
    "dlq restore b",
    "dlq restore nobody",
    "dlq clear --dry-run",
    "dlq clear --yes",
    "dlq purge",
    "dlq purge --older-than 0s",
    "dlq purge --older-than 0s --dry-run",
    "dlq maintain",
    "dlq maintain --max-items few",
    "dlq export -",
    "dlq export out.jsonl",
    "dlq export - --format csv",
    "dlq import out.jsonl",
    "dlq import nowhere.json",
    "dlq mirror",
    "dlq mirror nobody",
    "dlq capsule a",
    "dlq capsule open a.capsule.json.gz",
    "dlq capsule open nowhere.gz",
    "dlq nonsense",
    "dlq",
    "ops",
    "ops list --open",
    "ops list --job nobody",
    "ops show nobody",
    "ops pause nobody",
    "ops resume",
    "ops cancel nobody",
    "ops undo nobody",
    "ops nonsense",
  ];

  it("pitfall 31: is one document on stdout for every command on letters, even if it is refused", async () => {
    const shop = openWorkshop();
    await shop.map([{ id: "a" }, { id: "b" }], "echo out; exit 3", BY_ID);
    for (const line of LINES) {
      const { stdout, code } = await shop.run([...line.split(" "), "--json"]);
      const document: unknown = readJson(stdout, line);
      const isError = typeof document === "object" && document !== null && "error" in document;
      expect([line, isError]).toEqual([line, code !== 0 && code !== 3]);
    }
  });
});

function readJson(text: string, line: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`redrive ${line} --json printed something else: ${text}`);
  }
}
