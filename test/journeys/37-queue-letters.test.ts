/**
 * The letters of queues: investigate, correct, redrive to the workers, verify; with every command that jobs have.
 */
import { existsSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { RunningCli } from "../support/cli.ts";
import { until } from "../support/until.ts";
import {
  type ErrorJson,
  type LetterJson,
  type OperationJson,
  openWorkshop,
  SOUND,
  type Workshop,
} from "./workshop.ts";

/** Amounts below 0 fail; every attempt is in the ledger. While the file `down` is there, all fail in the same way. */
const SCRIPT =
  'echo "$REDRIVE_ITEM_ID" >> $L; if [ -e $D ]; then echo "cannot connect" >&2; exit 7; fi; ' +
  'case "$1" in *-*) echo "negative amount" >&2; exit 4;; esac';

const command = (shop: Workshop) => [
  ...["--", "sh", "-c", `L=${shop.ledgerPath}; D=${shop.path("down")}; ${SCRIPT}`, "sh", "${item.amount}"],
];

/** A queue that tries once, with items a, b, c …; those whose amount is below 0 are letters, in this order. */
async function open(amounts: readonly number[], ...flags: string[]): Promise<Workshop> {
  const shop = openWorkshop();
  await shop.run(["queue", "create", "invoices", "--max-retries", "0", ...flags]);
  const rows = amounts.map((amount, n) => JSON.stringify({ id: String.fromCharCode(97 + n), amount }));
  await shop.run(["queue", "import", "invoices", "-", "--key-field", "id"], { stdin: rows.join("\n") });
  const drained = await shop.run([
    ...["worker", "--queue", "invoices", "--drain", "--quiet", "-j", "1"],
    ...command(shop),
  ]);
  expect(drained.code).toBe(amounts.some((amount) => amount < 0) ? 3 : 0);
  return shop;
}

async function startWorker(shop: Workshop): Promise<RunningCli> {
  const worker = shop.start(["worker", "--queue", "invoices", "--quiet", ...command(shop)]);
  await until("the worker is there", async () => {
    const { workers } = await shop.json<{ workers: readonly unknown[] }>("queue", "show", "invoices");
    return workers.length > 0;
  });
  return worker;
}

async function end(worker: RunningCli): Promise<void> {
  worker.signal("SIGTERM");
  await worker.ended;
}

const ids = (letters: readonly LetterJson[]) => letters.map(({ item_id }) => item_id).sort();

describe("the letters of a queue", () => {
  it("are investigated, corrected, sent to the workers and verified", async () => {
    const shop = await open([1, -2, -3]);
    expect(ids(await shop.letters("--queue", "invoices"))).toEqual(["b", "c"]);
    const inspected = await shop.run(["dlq", "inspect", "b", "--queue", "invoices"]);
    for (const words of ["negative amount", '"amount": -2', "redrive dlq edit b --job invoices"])
      expect(inspected.stdout).toContain(words);
    await shop.run([
      "dlq",
      "edit",
      "b",
      "--queue",
      "invoices",
      "--set",
      "amount=0 - item.amount",
      "--yes",
      "--note",
      "sign",
    ]);
    const worker = await startWorker(shop);
    const retried = await shop.run(["dlq", "retry", "invoices", "--force", "--yes", "--json"]);
    expect(retried.code).toBe(3);
    expect(retried.json<OperationJson>()).toMatchObject({
      selected: 2,
      redriven: 2,
      succeeded: 1,
      failed: 1,
      remaining: 0,
    });
    await end(worker);
    const fixed = await shop.json<LetterJson>("dlq", "inspect", "b", "--queue", "invoices");
    expect(fixed).toMatchObject({ state: "done", resolution: { kind: "manual_fix" }, revision: 2 });
    const again = await shop.json<LetterJson>("dlq", "inspect", "c", "--queue", "invoices");
    expect(again).toMatchObject({ state: "dead", redrive_count: 1, failure_count: 2 });
    const { stdout } = await shop.run(["dlq", "inspect", "b", "--queue", "invoices"]);
    expect(stdout).toMatch(/resolved/);
    expect(await shop.check()).toBe(SOUND);
  });

  it("pitfall 46: are requeued as new items, corrected on the way, and both refer to each other", async () => {
    const shop = await open([-1, -2]);
    const dry = await shop.json(
      "dlq",
      "retry",
      "invoices",
      "--as-new",
      "--dry-run",
      "--patch",
      '{"amount": 5}',
    );
    expect(dry).toMatchObject({ kind: "requeue", dry_run: true, selected: 2, done: 2, refused: 0 });
    expect(await shop.letters()).toHaveLength(2);
    const sent = await shop.run([
      "dlq",
      "retry",
      "invoices",
      "--as-new",
      "--set",
      "amount=0 - item.amount",
      "--yes",
      "--json",
    ]);
    expect(sent.code).toBe(0);
    expect(sent.json()).toMatchObject({
      ...{ kind: "requeue", selected: 2, done: 2, refused: 0, remaining: 0 },
      items: [
        { item_id: "a", requeued_as: "a~2" },
        { item_id: "b", requeued_as: "b~2" },
      ],
    });
    expect(await shop.json("queue", "show", "invoices", "a~2")).toMatchObject({
      ...{ state: "ready", requeued_from: "a", data: { id: "a", amount: 1 } },
    });
    const old = await shop.json("dlq", "inspect", "a", "--queue", "invoices");
    expect(old).toMatchObject({
      ...{ state: "discarded", requeued_as: ["a~2"], item_data: { id: "a", amount: -1 } },
      resolution: { reason: "requeued as a~2" },
    });
    expect((await shop.run(["dlq", "inspect", "a", "--queue", "invoices"])).stdout).toMatch(
      /Requeued as +a~2/,
    );
    expect((await shop.run(["queue", "show", "invoices", "a~2"])).stdout).toMatch(/Copied from +a/);
    expect((await shop.run(["queue", "show", "invoices", "a"])).stdout).toMatch(/Requeued as +a~2/);
    const drained = await shop.run(["worker", "--queue", "invoices", "--drain", "--quiet", ...command(shop)]);
    expect(drained.code).toBe(0);
    expect(await shop.json("queue", "show", "invoices", "a~2")).toMatchObject({ state: "done" });
    const { operation_id } = sent.json<OperationJson>();
    expect(await shop.run(["ops", "undo", operation_id ?? "", "--yes"])).toMatchObject({ code: 5 });
    expect((await shop.run(["ops", "show", operation_id ?? ""])).stdout).toContain("requeue");
    expect(await shop.check()).toBe(SOUND);
  });

  it("pitfall 53: keep their key when they are redriven, and never take that of a live item when requeued", async () => {
    const shop = await open([-1]);
    await shop.run(["queue", "add", "invoices", "--key", "a~2", "--data", '{"amount": 7}']);
    await shop.run(["dlq", "retry", "invoices", "a", "--as-new", "--force"]);
    expect(await shop.json("queue", "show", "invoices", "a~2")).toMatchObject({
      state: "ready",
      data: { amount: 7 },
    });
    expect(await shop.json("queue", "show", "invoices", "a~3")).toMatchObject({
      state: "ready",
      requeued_from: "a",
    });
    await shop.run(["dlq", "restore", "a", "--queue", "invoices", "--yes"]);
    await shop.run(["dlq", "retry", "invoices", "a", "--force", "--detach"]);
    expect(await shop.json("queue", "show", "invoices", "a")).toMatchObject({ item_id: "a", state: "ready" });
  });
});

describe("a redrive of a queue", () => {
  it("without a worker makes the letters ready, names the command that starts one, and reports what remains", async () => {
    const shop = await open([-1, -2]);
    shop.write("redrive.yml", "dlq: {mirror: false}\n");
    const sent = await shop.run(["dlq", "retry", "invoices", "--force", "--yes", "--json"]);
    expect(sent.code).toBe(0);
    expect(sent.json<OperationJson>()).toMatchObject({ redriven: 2, succeeded: 0, remaining: 2 });
    expect(sent.stderr).toContain("redrive worker --queue invoices -- COMMAND");
    expect(await shop.json("queue", "show", "invoices")).toMatchObject({
      counts: { ready: 2, dead: 0, letters: 2 },
    });
    await shop.run(["worker", "--queue", "invoices", "--drain", "--quiet", ...command(shop)]);
    const { operation_id } = sent.json<OperationJson>();
    expect(await shop.json("ops", "show", operation_id ?? "")).toMatchObject({
      status: "ended",
      failed: 2,
      remaining: 0,
    });
    const again = await shop.run(["dlq", "retry", "invoices", "--force", "--yes"]);
    expect(again.stdout).toMatch(/2 letters of invoices: .* 2 queued for workers .*redrive ops show op-\w+/);
  });

  it("with a canary stops when the worker meets the same failure again", async () => {
    const shop = await open([1, -2, -3, -4, -5, -6]);
    const worker = await startWorker(shop);
    const canary = await shop.run(["dlq", "retry", "invoices", "--force", "--canary", "--yes", "--json"]);
    await end(worker);
    expect(canary.code).toBe(3);
    expect(canary.json<OperationJson>()).toMatchObject({
      selected: 5,
      redriven: 1,
      failed: 1,
      refused: 4,
      remaining: 0,
    });
    expect(canary.stderr).toContain("The canary stopped");
    expect(await shop.letters()).toHaveLength(5);
  });

  it("that was killed is continued, and nothing runs twice", async () => {
    const shop = await open([-1, -2, -3]);
    shop.write("redrive.yml", "dlq: {mirror: false}\n");
    const worker = await startWorker(shop);
    const before = shop.ledger.length;
    const killed = shop.start(["dlq", "retry", "invoices", "--force", "--yes", "--rate", "1/h"]);
    await shop.untilLedger("one was worked again", (lines) => lines.length === before + 1);
    killed.signal("SIGKILL");
    await killed.ended;
    const [open_] = (
      await shop.json<{ operations: readonly { operation_id: string }[] }>("ops", "list", "--open")
    ).operations;
    const resumed = shop.start(["ops", "resume", open_?.operation_id ?? "", "--json"], { stdin: "" });
    await shop.untilLedger("it goes on at its rate", (lines) => lines.length === before + 2);
    resumed.signal("SIGTERM");
    expect((await resumed.ended).code).toBe(143);
    await end(worker);
    expect(new Set(shop.ledger.slice(before)).size).toBe(2);
    expect(await shop.check()).toBe(SOUND);
  });

  it("refuses settings that only workers have, and options that are only for jobs or only for queues", async () => {
    const shop = await open([-1]);
    const refusals: readonly (readonly [string[], RegExp])[] = [
      [["--parallel", "2"], /its workers/],
      [["--max-retries", "5"], /queue set invoices --retries 5/],
      [["--workflow", "w.yml"], /processed by workers/],
      [["--set", "amount=1"], /--as-new/],
      [["--as-new", "--canary"], /cannot be used together/],
      [["--as-new", "--rate", "1/s"], /cannot be used together/],
    ];
    for (const [flags, words] of refusals) {
      const answer = await shop.run(["dlq", "retry", "invoices", ...flags]);
      expect([flags, answer.code]).toEqual([flags, 2]);
      expect(answer.stderr).toMatch(words);
    }
    await shop.map(["x"], "exit 1", ["--name", "resize", "--retries", "0"]);
    const asNew = await shop.run(["dlq", "retry", "resize", "--as-new", "--json"]);
    expect(asNew.json<ErrorJson>().error.message).toMatch(/--as-new works only for queues/);
    expect((await shop.letters("--queue", "invoices"))[0]?.state).toBe("dead");
  });
});

describe("fix rules", () => {
  const RULES = (auto: boolean) => `fixes:
  - name: sign
    match: { filter: 'item.amount < 0' }
    set: { amount: '0 - item.amount' }
    auto: ${auto}
`;

  it("are used by dlq fix on a queue's letters, which its workers run again", async () => {
    const shop = await open([-1, 2]);
    shop.write("redrive.yml", RULES(false));
    const worker = await startWorker(shop);
    const fixed = await shop.run(["dlq", "fix", "--queue", "invoices", "--yes", "--json"]);
    await end(worker);
    expect(fixed.code).toBe(0);
    expect(fixed.json()).toMatchObject({
      job_id: "invoices",
      selected: 1,
      changed: 1,
      redriven: 1,
      succeeded: 1,
    });
    const letter = await shop.json("dlq", "inspect", "a", "--queue", "invoices");
    expect(letter).toMatchObject({ state: "done", resolution: { kind: "auto_fix" } });
  });

  it("that are automatic are used by a worker as letters arrive", async () => {
    const shop = await open([]);
    shop.write("redrive.yml", RULES(true));
    const worker = await startWorker(shop);
    await shop.run(["queue", "add", "invoices", "--key", "z", "--data", '{"amount": -9}']);
    await until("it was fixed and done", async () => {
      const { state } = await shop.json<{ state: string }>("queue", "show", "invoices", "z");
      return state === "done";
    });
    await end(worker);
    expect(await shop.json("dlq", "inspect", "z", "--queue", "invoices")).toMatchObject({
      ...{ item_data: { amount: 9 }, resolution: { kind: "auto_fix" } },
    });
  });
});

describe("every command on letters", () => {
  it("works for a queue by its name or with --queue", async () => {
    const shop = await open([-1, -2, -3]);
    expect((await shop.run(["dlq", "show", "invoices"])).stdout).toContain("negative amount");
    expect(await shop.json("dlq", "analyze", "--queue", "invoices")).toMatchObject({ total_items: 3 });
    expect(await shop.json("dlq", "stats", "invoices")).toMatchObject({ jobs: [{ job_id: "invoices" }] });
    expect((await shop.run(["groups", "list", "--queue", "invoices"])).stdout).toContain("negative amount");
    expect((await shop.run(["dlq", "note", "a", "seen", "--queue", "invoices"])).code).toBe(0);
    expect(await shop.json("queue", "show", "invoices", "a")).toMatchObject({ notes: [{ text: "seen" }] });
    expect(
      (await shop.run(["dlq", "capsule", "a", "--queue", "invoices", "-o", "a.capsule.json"])).code,
    ).toBe(0);
    expect(JSON.parse(gunzipSync(readFileSync(shop.path("a.capsule.json"))).toString())).toMatchObject({
      job: { kind: "queue", name: "invoices" },
    });
    expect(
      (await shop.run(["dlq", "discard", "a", "--queue", "invoices", "--reason", "known", "--yes"])).code,
    ).toBe(0);
    expect((await shop.run(["dlq", "restore", "a", "--queue", "invoices", "--yes"])).code).toBe(0);
    expect(
      (await shop.run(["dlq", "discard", "a", "--queue", "invoices", "--reason", "known", "--yes"])).code,
    ).toBe(0);
    expect((await shop.run(["dlq", "clear", "invoices", "--yes"])).code).toBe(0);
    expect(ids(await shop.letters("--queue", "invoices", "--state", "all"))).toEqual(["b", "c"]);
    expect((await shop.run(["dlq", "export", "out.json", "--queue", "invoices"])).code).toBe(0);
    expect((await shop.run(["dlq", "purge", "invoices", "--older-than", "0s", "--yes"])).code).toBe(0);
    expect((await shop.run(["dlq", "import", "out.json", "--queue", "invoices"])).code).toBe(0);
    expect(ids(await shop.letters("--queue", "invoices"))).toEqual(["b", "c"]);
    const mirrored = await shop.json<{ jobs: readonly { folder: string; items: number }[] }>(
      "dlq",
      "mirror",
      "invoices",
    );
    expect(mirrored.jobs).toMatchObject([{ items: 2 }]);
    expect(existsSync(mirrored.jobs[0]?.folder ?? "")).toBe(true);
    const maintained = await shop.json("dlq", "maintain", "invoices", "--max-items", "1");
    expect(maintained).toMatchObject({ evicted: 1 });
    const { operations } = await shop.json<{ operations: readonly unknown[] }>(
      "ops",
      "list",
      "--queue",
      "invoices",
    );
    expect(operations.length).toBeGreaterThan(4);
    expect((await shop.run(["dlq", "inspect", "b", "--queue", "invoices", "--job", "invoices"])).code).toBe(
      2,
    );
    expect(await shop.check()).toBe(SOUND);
  });

  it("keeps the data of a queue within its schema when a letter is edited", async () => {
    const shop = await open([-1]);
    shop.write("schema.json", '{"properties":{"amount":{"type":"number"}}}');
    await shop.run(["queue", "set", "invoices", "--schema", "schema.json"]);
    const edited = await shop.run([
      "dlq",
      "edit",
      "a",
      "--queue",
      "invoices",
      "--patch",
      '{"amount":"x"}',
      "--yes",
      "--json",
    ]);
    expect(edited.json()).toMatchObject({ done: 0, refused: 1 });
    const asNew = await shop.run([
      "dlq",
      "retry",
      "invoices",
      "--as-new",
      "--patch",
      '{"amount":"x"}',
      "--json",
    ]);
    expect(asNew.code).toBe(3);
    expect(asNew.json()).toMatchObject({ done: 0, refused: 1 });
  });
});
