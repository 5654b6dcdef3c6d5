/**
 * Receipts to an unavailable service: every attempt counts, then they are letters, which are sent again when it is
 * back.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import {
  entriesIn,
  metrics,
  NOWHERE,
  openGate,
  receipt,
  type SentJson,
  send,
  sendMany,
  sendOne,
  target,
} from "./gate.ts";
import type { Workshop } from "./workshop.ts";

const fileOf = (shop: Workshop) => join(shop.path("redrive"), "receipts", "gate", "receipts.json");

describe("a receipt to an unavailable target", () => {
  it.each([
    ["answers 503", 503],
    ["answers 429", { status: 429, headers: { "retry-after": "0" } }],
    ["answers 500", 500],
  ])(
    "that %s is a letter after five tries: exit code 3, the queue size and receipts.json show it",
    async (_, answer) => {
      const { shop, server } = await openGate();
      server.otherwise = answer;
      const sent = await sendMany(shop, 3, "--key-field", "task_id", "--json");
      expect(sent.code).toBe(3);
      expect(sent.json<SentJson>()).toMatchObject({ sent: 3, delivered: 0, dead: 3, waiting: 0 });
      for (const key of ["t-1", "t-2", "t-3"])
        expect(server.keys.filter((one) => one === key)).toHaveLength(5);
      expect(await metrics(shop)).toMatchObject({ 'cognigate_dead_letter_queue_size{queue="gate"}': 3 });
      const entries = entriesIn(fileOf(shop));
      expect(entries).toHaveLength(3);
      for (const n of [1, 2, 3])
        expect(entries).toContainEqual(expect.objectContaining({ receipt: receipt(n), attempts: 5 }));
    },
  );

  it("without a running delivery is a letter too; the note says that it is tried again", async () => {
    const { shop } = await openGate("--url", NOWHERE);
    const { code, stdout, stderr } = await sendOne(shop, 1, "--key", "k");
    expect([code, stdout]).toEqual([3, expect.stringMatching(/^dead {7}k .*ECONNREFUSED/)]);
    expect(stderr).toContain("gate does not accept receipts now");
    expect(stderr).toContain("receipts are retried");
  });

  it("that is available again delivers the next receipt at once", async () => {
    const { shop, server } = await openGate();
    server.otherwise = 503;
    expect((await sendMany(shop, 8)).code).toBe(3);
    server.otherwise = 200;
    expect((await send(shop, "--data", JSON.stringify(receipt(9)), "--wait", "5s")).code).toBe(0);
  });
});

describe("redrive receipts deliver", () => {
  /** Letters of an outage, and one that was refused. */
  async function openDead() {
    const gate = await openGate();
    gate.server.otherwise = 422;
    await sendOne(gate.shop, 9, "--key", "refused");
    gate.server.otherwise = 503;
    await sendMany(gate.shop, 3, "--key-field", "task_id");
    return gate;
  }

  it("sends letters that died of an outage again once the target answers, and leaves the refused one", async () => {
    const { shop, server } = await openDead();
    const delivering = shop.start(["receipts", "deliver", "gate"], { stdin: "" });
    await delivering.untilStderr("Processing");
    server.otherwise = 200;
    await until("they are delivered", async () => (await target(shop)).counts.done === 3);
    delivering.signal("SIGTERM");
    const { stderr } = await delivering.ended;
    expect(stderr).toContain("gate accepts receipts again: 2 letters from an outage are being redriven.");
    expect((await shop.letters()).map(({ item_id }) => item_id)).toEqual(["refused"]);
    expect(entriesIn(fileOf(shop)).map((entry) => entry.receipt)).toEqual([receipt(9)]);
  });

  it("with --drain ends when they are delivered", async () => {
    const { shop, server } = await openDead();
    server.otherwise = 200;
    expect((await shop.run(["receipts", "deliver", "gate", "--drain"])).code).toBe(0);
    expect((await target(shop)).counts).toMatchObject({ done: 3, dead: 1 });
  });

  it("sends one letter first, and no other while that one fails", async () => {
    const { shop, server } = await openDead();
    server.otherwise = ({ method }, response) => void response.writeHead(method === "HEAD" ? 200 : 503).end();
    const before = server.ledger.length;
    expect((await shop.run(["receipts", "deliver", "gate", "--drain", "--quiet"])).code).toBe(3);
    const posts = server.ledger.slice(before).filter(({ method }) => method === "POST");
    expect(new Set(posts.map(({ key }) => key)).size).toBeLessThan(3);
    expect((await target(shop)).counts).toMatchObject({ dead: 4, ready: 0 });
  });

  it("leaves them to a person with --no-auto-recover", async () => {
    const { shop, server } = await openDead();
    server.otherwise = 200;
    expect((await shop.run(["receipts", "deliver", "gate", "--drain", "--no-auto-recover"])).code).toBe(0);
    expect((await target(shop)).counts).toMatchObject({ done: 0, dead: 4 });
  });
});

describe("receipts.json in the home", () => {
  it("follows every command that changes letters, and is not created before the first one", async () => {
    const { shop, server } = await openGate();
    await sendOne(shop, 1, "--key", "k1");
    expect(existsSync(fileOf(shop))).toBe(false);
    server.otherwise = 422;
    await sendOne(shop, 2, "--key", "k2");
    await sendOne(shop, 3, "--key", "k3");
    expect(entriesIn(fileOf(shop)).map((entry) => entry.receipt)).toEqual([receipt(2), receipt(3)]);
    await shop.run(["dlq", "discard", "k2", "--reason", "old", "--yes"]);
    expect(entriesIn(fileOf(shop)).map((entry) => entry.receipt)).toEqual([receipt(3)]);
    server.otherwise = 200;
    expect((await shop.run(["receipts", "recover", "gate", "--yes"])).code).toBe(0);
    expect(entriesIn(fileOf(shop))).toEqual([]);
  });
});
