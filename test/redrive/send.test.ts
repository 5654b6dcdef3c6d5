import { expect, it } from "vitest";
import { sendAhead } from "../../src/redrive/send.ts";
import { StoreRetry } from "../../src/runner/store-retry.ts";
import { many, QUEUE, RedriveKit } from "./redrive-kit.ts";

it("sends all, refuses letters that are not eligible, and ignores those that died after it began", async () => {
  const kit = new RedriveKit();
  await kit.bury({ a: {}, b: { reprocessEligible: false }, c: {} });
  const operation = await kit.begin();
  await kit.bury({ late: {} });
  expect(await all(kit.send(operation))).toBe(2);
  expect(await kit.work()).toEqual(["a", "c"]);
  expect(await kit.engine.closeOperation(operation.id)).toMatchObject({
    status: "ended",
    selected: 3,
    done: 2,
    refused: 1,
    succeeded: 2,
  });
  expect(await kit.engine.count(QUEUE)).toMatchObject({ dead: 2, done: 2 });
});

it("a rate admits one after the other, and no more", async () => {
  const kit = new RedriveKit();
  await kit.bury(many("a", 4, {}));
  const sending = kit.send(await kit.begin({ rate: { letters: 2, perMs: 1000 } }));
  const times: number[] = [];
  const start = kit.clock.now();
  let step = sending.next();
  for (;;) {
    const now = await Promise.race([step, standstill()]);
    if (now === "waiting") kit.clock.advance(100);
    else if (now.done) break;
    else {
      if (now.value > 0) times.push(kit.clock.now() - start);
      step = sending.next();
    }
  }
  expect(times).toEqual([0, 500, 1000, 1500]);
});

it("a delay is waited for before the first letter, and only once however often it is continued", async () => {
  const kit = new RedriveKit();
  await kit.bury({ a: {}, b: {} });
  const operation = await kit.begin({ delayMs: 1000 });
  const first = kit.send(operation).next();
  expect(await Promise.race([first, standstill()])).toBe("waiting");
  kit.clock.advance(600);
  expect(await kit.work()).toEqual([]);
  kit.stop.abort();
  const another = new AbortController();
  const sending = all(kit.send(operation, another.signal));
  expect(await Promise.race([sending, standstill()])).toBe("waiting");
  kit.clock.advance(400);
  expect(await sending).toBe(2);
});

it("while it is paused nothing is sent; opened again, it continues", async () => {
  const kit = new RedriveKit();
  await kit.bury(many("a", 3, {}));
  const operation = await kit.begin();
  const paused = await kit.engine.changeOperation(operation.id, { status: "paused" });
  const sending = all(kit.send(paused));
  expect(await Promise.race([sending, standstill()])).toBe("waiting");
  expect(await kit.work()).toEqual([]);
  await kit.engine.changeOperation(operation.id, { status: "open" });
  kit.clock.advance(500);
  expect(await sending).toBe(3);
});

it("a cancelled or stopped redrive sends nothing more", async () => {
  const kit = new RedriveKit();
  await kit.bury(many("a", 3, {}));
  const cancelled = await kit.engine.changeOperation((await kit.begin()).id, { status: "cancelled" });
  expect(await all(kit.send(cancelled))).toBe(0);
  const stopped = await kit.begin();
  kit.stop.abort();
  expect(await all(kit.send(stopped))).toBe(0);
  expect(await kit.engine.count(QUEUE)).toMatchObject({ dead: 3 });
});

it("sent ahead, delay and rate become the due times of the letters", async () => {
  const kit = new RedriveKit();
  await kit.bury(many("a", 5, {}));
  const plan = { delayMs: 10_000, rate: { letters: 2, perMs: 1000 } };
  const sent = await sendAhead(await kit.begin(plan), kit.engine, new StoreRetry(0, kit.clock));
  expect(sent).toMatchObject({ status: "open", done: 5 });
  const due = (await kit.engine.findItems("", { queue: QUEUE, limit: 10 })).map(({ dueAt }) => dueAt);
  expect(due.map((at) => at - kit.clock.now())).toEqual([10_000, 10_000, 11_000, 11_000, 12_000]);
});

async function all(sending: AsyncGenerator<number>): Promise<number> {
  let sum = 0;
  for await (const sent of sending) sum += sent;
  return sum;
}

/** Resolves when everything has happened that can happen while the clock stands still. */
async function standstill(): Promise<"waiting"> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return "waiting";
}
