/** `--drain`: a worker that ends when there is nothing to do, and reports what it waits for or leaves. */
import { describe, expect, it } from "vitest";
import { openGate, sendMany } from "./gate.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

type WorkerJson = {
  readonly queues: readonly {
    readonly end: string;
    readonly done: number;
    readonly left?: number;
    readonly next_due_at?: string;
  }[];
};

async function openQueue(...settings: string[]): Promise<Workshop> {
  const shop = openWorkshop();
  expect((await shop.run(["queue", "create", "orders", ...settings])).code).toBe(0);
  return shop;
}

const add = (shop: Workshop, key: string, ...flags: string[]) =>
  shop.run(["queue", "add", "orders", "--data", JSON.stringify(key), "--key", key, ...flags]);
const worker = (shop: Workshop, script: string, ...flags: string[]) => [
  ...["worker", "--queue", "orders", "--drain", ...flags],
  ...["--", "sh", "-c", `L=${shop.ledgerPath}; ${script}`, "sh", "{}"],
];

describe("a worker with --drain", () => {
  it("leaves items that are due in hours, reports how many and when, and ends", async () => {
    const shop = await openQueue();
    await add(shop, "now");
    await add(shop, "later", "--due", "3h");
    await add(shop, "tomorrow", "--due", "1d");
    const { code, stderr } = await shop.run(worker(shop, 'echo "$1" >> $L'));
    expect(code).toBe(0);
    expect(shop.ledger).toEqual(["now"]);
    expect(stderr).toMatch(/1 done/);
    expect(stderr).toMatch(
      /orders: 2 items are left in the queue; the next is due in [23]h \d\dm, at \d{4}-.*Z\.\n$/,
    );
    const json = await shop.run(worker(shop, "true", "--json"));
    const [queue] = json.json<WorkerJson>().queues;
    expect(queue).toMatchObject({ end: "finished", done: 0, left: 2 });
    expect(queue?.next_due_at).toMatch(/^\d{4}-.*Z$/);
  });

  it("waits for a retry, even if something else is due in hours", async () => {
    const shop = await openQueue("--backoff", "fixed:300ms", "--max-retries", "1");
    await add(shop, "twice");
    await add(shop, "later", "--due", "3h");
    const { code, stderr } = await shop.run(worker(shop, 'echo "$1" >> $L; [ "$(wc -l < $L)" -eq 2 ]'));
    expect(code).toBe(0);
    expect(shop.ledger).toEqual(["twice", "twice"]);
    expect(stderr).toMatch(/1 done · 1 retried/);
    expect(stderr).toMatch(/orders: 1 item is left in the queue/);
  });

  it("waits for a retry behind an open breaker", async () => {
    const breaker = ["--breaker", "1", "--breaker-timeout", "300ms"];
    const shop = await openQueue("--backoff", "fixed:1ms", "--max-retries", "1", ...breaker);
    await add(shop, "later", "--due", "3h");
    await add(shop, "twice");
    const script = 'echo "$1" >> $L; [ "$(wc -l < $L)" -eq 2 ]';
    const { code, stderr } = await shop.run(worker(shop, script));
    expect(shop.ledger).toEqual(["twice", "twice"]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/orders: 1 item is left in the queue/);
  });

  it("waits the given time, and reports for what", async () => {
    const shop = await openQueue();
    await add(shop, "later", "--due", "3h");
    const waiting = shop.start(worker(shop, 'echo "$1" >> $L', "--due-within", "4h"), { stdin: "" });
    await waiting.untilStderr(/orders: waiting for 1 item; the next is due in [23]h \d\dm, at .*Z\./);
    await add(shop, "now");
    await shop.untilLedger("what came", (lines) => lines.includes("now"));
    waiting.signal("SIGTERM");
    const { code, stderr } = await waiting.ended;
    expect(code).toBe(143);
    expect(stderr).not.toContain("left in the queue");
  });

  it("runs what becomes due while it waits, and leaves what is due a little later", async () => {
    const shop = await openQueue();
    await add(shop, "soon", "--due", "1s");
    await add(shop, "in a minute", "--due", "1m");
    const { code, stderr } = await shop.run(worker(shop, 'echo "$1" >> $L', "--due-within", "10s"));
    expect(code).toBe(0);
    expect(shop.ledger).toEqual(["soon"]);
    expect(stderr).toMatch(/orders: 1 item is left in the queue/);
  });

  it("speaks of receipts when it delivers them", async () => {
    const { shop, server } = await openGate();
    await shop.run(["receipts", "target", "gate", "--backoff", "fixed:1h"]);
    server.otherwise = { status: 500 };
    await sendMany(shop, 2, "--no-wait");
    const { code, stderr } = await shop.run(["receipts", "deliver", "gate", "--drain"]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/gate: 2 receipts are left in the queue; the next is due in (59m|1h)/);
  });

  it("is required by --due-within", async () => {
    const shop = await openQueue();
    const args = ["worker", "--queue", "orders", "--due-within", "1h", "--", "true"];
    const { code, stderr } = await shop.run(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--until-empty/);
  });
});
