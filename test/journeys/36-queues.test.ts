/** Named queues on the command line: created, filled by hand and from files, shown, held and paused. */
import { describe, expect, it } from "vitest";
import { type ErrorJson, type EventJson, openWorkshop, SOUND, type Workshop } from "./workshop.ts";

type ItemJson = {
  readonly item_id: string;
  readonly state: string;
  readonly priority: string;
  readonly name?: string;
  readonly due_at: string;
  readonly expires_at?: string;
  readonly data: unknown;
  readonly revision: number;
};
type QueueJson = {
  readonly name: string;
  readonly is_paused: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly workers: readonly unknown[];
};

const items = async (shop: Workshop, ...flags: string[]) =>
  (await shop.json<{ items: readonly ItemJson[] }>("queue", "items", "invoices", ...flags)).items;
const ids = (all: readonly ItemJson[]) => all.map(({ item_id }) => item_id);

async function open(...flags: string[]): Promise<Workshop> {
  const shop = openWorkshop();
  expect((await shop.run(["queue", "create", "invoices", ...flags])).code).toBe(0);
  return shop;
}

const add = (shop: Workshop, data: unknown, ...flags: string[]) =>
  shop.run(["queue", "add", "invoices", "--data", JSON.stringify(data), ...flags]);

describe("a queue is created and changed", () => {
  it("with every setting, which show prints with the names of the options", async () => {
    const shop = openWorkshop();
    shop.write("schema.json", '{"type":"object"}');
    const flags = [
      ...["--max-retries", "4", "--backoff", "fixed:2s", "--on-failure", "skip", "--max-losses", "5"],
      ...["--breaker", "7", "--breaker-timeout", "1m", "--priority", "low", "--unique", "return"],
      ...["--schema", "schema.json", "--expires-after", "2h", "--lease", "20s", "--rate", "100/m"],
      ...["--description", "what is to be paid"],
    ];
    const made = await shop.json<QueueJson>("queue", "create", "invoices", ...flags);
    expect(made).toMatchObject({ name: "invoices", description: "what is to be paid", is_new: true });
    expect(made.settings).toMatchObject({
      ...{ max_retries: 4, backoff: "fixed:2s", on_failure: "skip", losses_max: 5, priority: "low" },
      ...{ unique: "return", schema: { type: "object" }, expires_after_ms: 7_200_000, lease_ms: 20_000 },
      breaker: { failure_threshold: 7, timeout_ms: 60_000 },
    });
    expect(made.settings.rate_per_second).toBeCloseTo(100 / 60);
    const { stdout } = await shop.run(["queue", "show", "invoices"]);
    for (const words of ["fixed:2s", "7 failures in a row for 1m", "100/m", "what is to be paid"])
      expect(stdout).toContain(words);
    const changed = await shop.json<QueueJson>(
      ...["queue", "set", "invoices", "--rate", "none", "--breaker", "none", "--schema", "none"],
      ...["--expires-after", "none", "--max-retries", "0"],
    );
    const none = { rate_per_second: null, breaker: null, schema: null, expires_after_ms: null };
    expect(changed.settings).toMatchObject({ ...none, max_retries: 0, lease_ms: 20_000 });
  });

  it("once: the same again is allowed, another under its name is refused, and so is an invalid name", async () => {
    const shop = await open("--max-retries", "1");
    expect((await shop.run(["queue", "create", "invoices", "--max-retries", "1"])).code).toBe(0);
    const other = await shop.run(["queue", "create", "invoices", "--json"]);
    expect(other.code).toBe(5);
    expect(other.json<ErrorJson>().error).toMatchObject({
      code: "job_changed",
      hint: expect.stringContaining("queue set"),
    });
    expect((await shop.run(["queue", "create", "a b"])).code).toBe(2);
    expect((await shop.run(["queue", "set", "invoices"])).code).toBe(2);
    await shop.map(["x"], "true", ["--name", "resize"]);
    expect((await shop.run(["queue", "create", "resize"])).code).toBe(5);
    expect((await shop.map(["x"], "true", ["--name", "invoices"])).code).toBe(5);
  });

  it("and for an unknown one the existing ones are listed", async () => {
    const shop = await open();
    for (const args of [
      ["show"],
      ["items"],
      ["pause"],
      ["resume"],
      ["set", "--lease", "9s"],
      ["add", "--data", "1"],
    ]) {
      const [verb = "", ...flags] = args;
      const answer = await shop.run(["queue", verb, "invocies", ...flags]);
      expect([verb, answer.code]).toEqual([verb, 4]);
      expect(answer.stderr).toContain("Did you mean invoices? Existing queues: invoices.");
    }
    expect((await openWorkshop().run(["queue", "list"])).stdout).toMatch(/queue create NAME/);
  });
});

describe("items are added", () => {
  it("from an option, a file and stdin, with name, priority, key, due time and expiry", async () => {
    const shop = await open();
    const printed = await add(shop, { n: 1 }, "--key", "a", "--name", "Anna", "--priority", "high");
    expect(printed).toMatchObject({ code: 0, stdout: "a\n" });
    shop.write("b.json", '{"n": 2}');
    expect(
      (
        await shop.run([
          "queue",
          "add",
          "invoices",
          "--file",
          "b.json",
          "--key",
          "b",
          "--due",
          "2030-01-31T09:00:00Z",
        ])
      ).code,
    ).toBe(0);
    expect(
      (
        await shop.run([
          "queue",
          "add",
          "invoices",
          "--data",
          "@b.json",
          "--key",
          "c",
          "--expires",
          "2030-01-31T09:00:00Z",
        ])
      ).code,
    ).toBe(0);
    const free = await shop.run(["queue", "add", "invoices", "--lane", "x"], { stdin: "[3]" });
    expect(free.stdout).toMatch(/^[0-9a-z]{16}\n$/);
    const [a, b, c, d] = await items(shop);
    expect(a).toMatchObject({ item_id: "a", name: "Anna", priority: "high", data: { n: 1 }, state: "ready" });
    expect(b).toMatchObject({ data: { n: 2 }, priority: "normal", due_at: "2030-01-31T09:00:00.000Z" });
    expect(c).toMatchObject({ expires_at: "2030-01-31T09:00:00.000Z" });
    expect(d).toMatchObject({ data: [3], ordering_key: "x" });
    expect((await add(shop, 1, "--due", "tomorrow")).code).toBe(2);
    expect((await add(shop, 1, "--file", "b.json")).code).toBe(2);
    expect((await shop.run(["queue", "add", "invoices", "--data", "{"])).code).toBe(2);
    expect((await shop.run(["queue", "add", "invoices", "1", "--data", "2"])).code).toBe(2);
    expect(await items(shop)).toHaveLength(4);
    await shop.run(["queue", "add", "invoices", '{"as": "argument"}']);
    expect((await items(shop)).at(-1)).toMatchObject({ data: { as: "argument" } });
  });

  it("under a known key by the rule of the queue: reject, return, replace", async () => {
    const shop = await open();
    await add(shop, 1, "--key", "k");
    const refused = await add(shop, 2, "--key", "k");
    expect(refused).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("its key is already used by an item that is ready"),
    });
    await shop.run(["queue", "set", "invoices", "--unique", "return"]);
    expect(await add(shop, 2, "--key", "k")).toMatchObject({ code: 0, stdout: "k\n" });
    expect((await items(shop))[0]).toMatchObject({ data: 1, revision: 1 });
    await shop.run(["queue", "set", "invoices", "--unique", "replace"]);
    const replaced = await shop.json("queue", "add", "invoices", "--data", "2", "--key", "k");
    expect(replaced).toEqual({ queue: "invoices", item_id: "k", outcome: "replaced" });
    expect((await items(shop))[0]).toMatchObject({ data: 2, revision: 2 });
  });

  it("and refused with the position if they violate the schema", async () => {
    const shop = openWorkshop();
    shop.write("schema.json", '{"properties":{"amount":{"type":"number"}}}');
    await shop.run(["queue", "create", "invoices", "--schema", "schema.json"]);
    const refused = await add(shop, { amount: "1" });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/schema.*amount/) });
  });
});

describe("items are imported", () => {
  it("from JSON Lines; every bad row is named with its line, the good ones are added, and a dry run writes nothing", async () => {
    const shop = await open();
    const path = shop.write(
      "in.jsonl",
      '{"id":"a","p":"high"}\nnope\n{"id":"a"}\n{"id":"b","p":"urgent"}\n{"id":"c","d":"never"}\n{"x":1}\n{"id":"d","d":"1h"}\n',
    );
    const flags = ["--key-field", "id", "--priority-field", "p", "--due-field", "d"];
    const dry = await shop.run(["queue", "import", "invoices", "in.jsonl", ...flags, "--dry-run"]);
    expect(dry).toMatchObject({ code: 3, stdout: expect.stringContaining("would be added") });
    expect(await items(shop)).toEqual([]);
    const real = await shop.run(["queue", "import", "invoices", path, ...flags]);
    expect(real.code).toBe(3);
    expect(real.stdout).toBe("7 rows for invoices: 2 added, 5 refused.\n");
    const lines = real.stderr.trim().split("\n");
    expect(lines.map((line) => /jsonl:(\d+): /.exec(line)?.[1])).toEqual(["2", "3", "4", "5", "6"]);
    expect(ids(await items(shop))).toEqual(["a", "d"]);
    const again = await shop.run(["queue", "import", "invoices", path, ...flags, "--json"]);
    expect(again.code).toBe(2);
    expect(again.json()).toMatchObject({ read: 7, added: 0, refused: 7 });
    expect(again.json<{ problems: readonly { line: number }[] }>().problems).toHaveLength(7);
  });

  it("from CSV, typed or not, and as envelopes", async () => {
    const shop = await open();
    shop.write("in.csv", "id,amount,who\na,1.5,Ann\nb,2\nc,x,Cy\n");
    const csv = await shop.run([
      "queue",
      "import",
      "invoices",
      "in.csv",
      "--key-field",
      "id",
      "--name-field",
      "who",
      "--typed",
    ]);
    expect(csv).toMatchObject({ code: 3, stderr: expect.stringContaining("in.csv:3: it has 2 values") });
    expect((await items(shop))[0]).toMatchObject({ name: "Ann", data: { id: "a", amount: 1.5, who: "Ann" } });
    const envelopes = '{"data":1,"key":"e","priority":"low","expires":"1h"}\n';
    const taken = await shop.run(["queue", "import", "invoices", "-", "--envelope", "--format", "jsonl"], {
      stdin: envelopes,
    });
    expect(taken).toMatchObject({ code: 0, stdout: "1 row for invoices: 1 added.\n" });
    expect((await items(shop)).at(-1)).toMatchObject({ item_id: "e", data: 1, priority: "low" });
    const ordered = await shop.run(
      ["queue", "import", "invoices", "-", "--lane-field", "l", "--expires-field", "t"],
      {
        stdin: '{"l":"x","t":"2030-01-31T09:00:00Z"}\n',
      },
    );
    expect(ordered.code).toBe(0);
    expect((await items(shop)).at(-1)).toMatchObject({
      ordering_key: "x",
      expires_at: "2030-01-31T09:00:00.000Z",
    });
    expect(
      (await shop.run(["queue", "import", "invoices", "-", "--envelope", "--key-field", "id"])).code,
    ).toBe(2);
    expect((await shop.run(["queue", "import", "invoices", "x.json"])).code).toBe(2);
  });
});

describe("a queue is inspected and held back", () => {
  it("items are processed by priority, then due time, then age", async () => {
    const shop = await open();
    await add(shop, "low", "--priority", "low", "--key", "4");
    await add(shop, "late", "--key", "later", "--due", "1h");
    await add(shop, "second", "--key", "2");
    await add(shop, "third", "--key", "3");
    await add(shop, "first", "--priority", "high", "--key", "1");
    const script = `echo "$1" >> ${shop.ledgerPath}`;
    const worker = shop.start([
      "worker",
      "--queue",
      "invoices",
      "-j",
      "1",
      "--",
      "sh",
      "-c",
      script,
      "sh",
      "{}",
    ]);
    await shop.untilLedger("four were worked", (lines) => lines.length === 4);
    worker.signal("SIGTERM");
    await worker.ended;
    expect(shop.ledger).toEqual(["first", "second", "third", "low"]);
    expect(ids(await items(shop, "--state", "Processed"))).toEqual(["4", "2", "3", "1"]);
  });

  it("by state, even with the names of Power Automate, page by page", async () => {
    const shop = await open();
    for (const key of ["a", "b", "c"]) await add(shop, key, "--key", key);
    expect((await shop.run(["queue", "hold", "invoices", "b", "--reason", "look first"])).code).toBe(0);
    expect(ids(await items(shop, "--state", "OnHold"))).toEqual(["b"]);
    expect(ids(await items(shop, "--state", "Queued"))).toEqual(["a", "c"]);
    expect(ids(await items(shop, "--state", "held,ready"))).toEqual(["a", "b", "c"]);
    for (const state of ["Processing", "Processed", "Failed"])
      expect(await items(shop, "--state", state)).toEqual([]);
    expect((await shop.run(["queue", "items", "invoices", "--state", "gone"])).code).toBe(2);
    const first = await shop.json<{ items: readonly ItemJson[]; next: string | null }>(
      "queue",
      "items",
      "invoices",
      "--limit",
      "2",
    );
    expect(ids(first.items)).toEqual(["a", "b"]);
    const second = await shop.json<{ items: readonly ItemJson[]; next: string | null }>(
      ...["queue", "items", "invoices", "--limit", "2", "--cursor", first.next ?? ""],
    );
    expect([ids(second.items), second.next]).toEqual([["c"], null]);
    const { stdout } = await shop.run(["queue", "items", "invoices", "--limit", "2"]);
    expect(stdout).toContain(`redrive queue items invoices --limit 2 --cursor ${first.next}`);
  });

  it("a held item is not run until it is released; items in another state are refused and named", async () => {
    const shop = await open();
    await add(shop, "a", "--key", "a");
    await add(shop, "b", "--key", "b");
    await shop.run(["queue", "hold", "invoices", "a", "--reason", "look first"]);
    const again = await shop.run(["queue", "hold", "invoices", "a", "b", "--json"]);
    expect(again.code).toBe(5);
    expect(again.json()).toEqual({ queue: "invoices", held: 1, refused: [{ item_id: "a", state: "held" }] });
    expect((await shop.run(["queue", "hold", "invoices", "zz"])).code).toBe(4);
    expect(await shop.run(["queue", "release", "invoices", "a", "b"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("2 items of invoices"),
    });
    const held = (await shop.events("invoices")).filter(({ type }) => type === "item_held");
    expect(held[0]?.data).toMatchObject({ reason: "look first" });
  });

  it("a paused queue is shown as such everywhere, with author and reason", async () => {
    const shop = await open();
    await add(shop, "a", "--key", "a");
    const author = { env: { REDRIVE_AUTHOR: "ann" } };
    expect((await shop.run(["queue", "pause", "invoices", "--reason", "outage"], author)).stdout).toMatch(
      /invoices/,
    );
    expect((await shop.run(["queue", "pause", "invoices"])).stdout).toMatch(
      /already paused: since .* by ann: outage/,
    );
    expect((await shop.run(["queue", "list"])).stdout).toMatch(/invoices +paused/);
    const { queues } = await shop.json<{ queues: readonly QueueJson[] }>("queue", "list");
    expect(queues).toMatchObject([
      { name: "invoices", is_paused: true, pause: { author: "ann", reason: "outage" }, counts: { ready: 1 } },
    ]);
    expect((await shop.run(["queue", "resume", "invoices"])).stdout).toContain("1 item");
    expect((await shop.run(["queue", "resume", "invoices"])).stdout).toBe("invoices was not paused.\n");
    const told = (await shop.events("invoices")).map(({ type }: EventJson) => type);
    expect(told.filter((type) => type.startsWith("queue_"))).toEqual([
      "queue_created",
      "queue_paused",
      "queue_resumed",
    ]);
    expect(await shop.check()).toBe(SOUND);
  });

  it("commands for jobs do not touch queues, and name the right command", async () => {
    const shop = await open();
    await add(shop, "a");
    const jobs = await shop.run(["jobs"]);
    expect(jobs.stdout).not.toContain("invoices");
    expect(jobs.stderr).toContain("redrive queue list");
    expect(await shop.json("jobs")).toEqual({ jobs: [] });
    for (const verb of ["status", "resume"]) {
      const answer = await shop.run([verb, "invoices"]);
      expect([verb, answer.code]).toEqual([verb, 2]);
      expect(answer.stderr).toContain("redrive queue show invoices");
    }
    expect((await shop.run(["resume"])).code).toBe(4);
  });
});
