/** The output for senders of receipts speaks of receipts, keys and targets, never of items and queues. */
import { describe, expect, it } from "vitest";
import { openGate, REFUSED, receipt, sendOne } from "./gate.ts";
import type { ErrorJson, Workshop } from "./workshop.ts";

const QUEUE_WORDS = /item|queue|job|priority/i;

async function openWithLetter(): Promise<Workshop> {
  const { shop, server } = await openGate();
  server.otherwise = REFUSED;
  expect((await sendOne(shop, 1, "--key", "t-1")).code).toBe(3);
  expect((await sendOne(shop, 2, "--key", "t-2", "--no-wait", "--order", "l-1")).code).toBe(0);
  return shop;
}

describe("receipts", () => {
  it("are listed by key, state, due time and attempts", async () => {
    const shop = await openWithLetter();
    const { stdout } = await shop.run(["receipts", "list", "gate"]);
    const [titles, first] = stdout.split("\n");
    expect(titles?.trim().split(/ +/)).toEqual(["KEY", "STATE", "DUE", "TRIES", "RECEIPT"]);
    expect(first).toMatch(/^t-1 +dead +1 +\{"lease_id"/);
    const { receipts } = await shop.json<{ receipts: readonly object[] }>("receipts", "list", "gate");
    expect(receipts[0]).toMatchObject({ key: "t-1", target: "gate", state: "dead", data: receipt(1) });
  });

  it("are shown with their target, their attempts and the next step", async () => {
    const shop = await openWithLetter();
    const dead = (await shop.run(["receipts", "inspect", "t-1"])).stdout;
    expect(dead).toMatch(/^t-1 {2}dead\n {2}Target +gate\n/);
    expect(dead).toMatch(
      /\nReceipt\n {2}\{"lease_id".*\n\nAttempts\n {2}#1 .* failed .*ClientError\n +HTTP 422 .*: no such task\n/,
    );
    expect(dead).not.toContain("Due");
    const gate = (await shop.run(["receipts", "target", "gate"])).stdout;
    expect(gate).toMatch(/\nReceipts\n {2}Waiting +1.*\n {2}Delivered +0\n {2}Dead +1\n/);
    expect(dead).toMatch(
      /\nNext\n.*redrive dlq inspect t-1 --queue gate\n +redrive receipts recover gate\n$/,
    );
    expect(dead.replace(/redrive dlq .*/, "")).not.toMatch(QUEUE_WORDS);
    const waiting = (await shop.run(["receipts", "inspect", "t-2", "--target", "gate"])).stdout;
    expect(waiting).toMatch(/Order +l-1\n/);
    expect(waiting).not.toMatch(QUEUE_WORDS);
  });

  it.each<[string, readonly string[], number]>([
    ["a key that nobody sent", ["inspect", "x"], 4],
    ["a key that nobody sent to the target", ["inspect", "x", "--target", "gate"], 4],
    ["a key that is cut too short", ["inspect", "t-"], 2],
  ])("of %s are told of in the same words", async (_, args, code) => {
    const shop = await openWithLetter();
    const ended = await shop.run(["receipts", ...args, "--json"]);
    expect(ended.code).toBe(code);
    const { message, hint } = ended.json<ErrorJson>().error;
    expect(`${message} ${hint}`).toMatch(/receipt/);
    expect(`${message} ${hint}`).not.toMatch(QUEUE_WORDS);
  });

  it("of an unknown state are refused with the valid states", async () => {
    const shop = await openWithLetter();
    const ended = await shop.run(["receipts", "list", "gate", "--state", "lost", "--json"]);
    expect(ended.code).toBe(2);
    const { message, hint } = ended.json<ErrorJson>().error;
    expect(`${message} ${hint}`).toMatch(/"lost".*ready.*dead/);
  });

  it("refuse the name of a worker, which signs notes", async () => {
    const shop = await openWithLetter();
    const { code, stderr } = await shop.run(["worker", "--queue", "gate", "--drain", "--name", "robot-1"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--name has no effect on gate: it is a receipt target/);
  });
});
