/** A service that sends receipts: `target.send(receipt)`, from the store to the other side. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Target } from "../../src/delivery/target.ts";
import type { Engine } from "../../src/engine.ts";
import { RedriveError } from "../../src/errors.ts";
import { contentId } from "../../src/intake/identity.ts";
import { until } from "../support/until.ts";
import { DeliveryKit, RECEIPT, TARGET } from "./delivery-kit.ts";
import type { Answer } from "./receipt-server.ts";

let kit: DeliveryKit;
beforeEach(async () => {
  kit = await DeliveryKit.open();
});
afterEach(() => kit.close());

/** Answers when the test lets it. */
function gate(): { readonly answer: Extract<Answer, (...given: never) => void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { answer: (_entry, response) => void opened.then(() => response.end()), open };
}

describe("sending a receipt", () => {
  it("posts it as JSON with its key, and resolves true once it is delivered", async () => {
    const target = kit.target({ headers: { "X-Service": "cognigate" } });
    expect(await target.send(RECEIPT)).toBe(true);
    expect(kit.server.ledger).toMatchObject([
      {
        method: "POST",
        path: "/complete",
        key: contentId(RECEIPT),
        headers: { "content-type": "application/json", "x-service": "cognigate" },
      },
    ]);
    expect(JSON.parse(kit.server.ledger[0]?.body ?? "")).toEqual(RECEIPT);
    expect(kit.server.ledger[0]?.headers.authorization).toBeUndefined();
    expect(await target.counts()).toMatchObject({ done: 1, total: 1 });
    expect(await kit.statuses()).toEqual({ delivered: 1 });
  });

  it("resolves false once the server has refused it, and keeps it as a letter", async () => {
    kit.server.say({ status: 422, body: { message: "no such lease" } });
    const target = kit.target();
    expect(await target.send(RECEIPT, { key: "r-1" })).toBe(false);
    expect(kit.server.keys).toEqual(["r-1"]);
    const { letters } = await kit.engine.listLetters({ queue: TARGET, order: "oldest", limit: 10 });
    expect(letters).toMatchObject([
      { itemId: "r-1", itemData: RECEIPT, reason: "permanent failure (ClientError), not retried" },
    ]);
    expect(await kit.failures("r-1")).toEqual([
      ["ClientError", "permanent", "HTTP 422 Unprocessable Entity: no such lease"],
    ]);
    expect(await kit.statuses()).toEqual({ refused: 1 });
  });

  it("uses one connection for many receipts", async () => {
    const target = kit.target({ concurrency: 1 });
    for (let n = 0; n < 5; n += 1) expect(await target.send({ n })).toBe(true);
    expect(kit.proxy.connections).toBe(1);
  });

  it("many at once are all delivered, at most the configured number at a time", async () => {
    let [now, most] = [0, 0];
    kit.server.otherwise = (_entry, response) => {
      now += 1;
      most = Math.max(most, now);
      setImmediate(() => {
        now -= 1;
        response.end();
      });
    };
    const target = kit.target({ concurrency: 3 });
    const sent = await Promise.all(Array.from({ length: 50 }, (_, n) => target.send({ n })));
    expect(new Set(sent)).toEqual(new Set([true]));
    expect(new Set(kit.server.keys).size).toBe(50);
    expect(most).toBeLessThanOrEqual(3);
  });

  it("without waiting it resolves when the receipt is stored, and reports its end later", async () => {
    const held = gate();
    kit.server.say(held.answer);
    const kept = await kit.target().send(RECEIPT, { wait: false, key: "r-1" });
    expect(kept).toMatchObject({ key: "r-1", isNew: true });
    expect(await kit.item("r-1")).toMatchObject({ data: RECEIPT });
    const end = kept.delivered();
    held.open();
    expect(await end).toBe(true);
    expect(await kept.delivered()).toBe(true);
  });

  it("a caller that stops waiting learns that the receipt is stored, and it is delivered all the same", async () => {
    const held = gate();
    kit.server.say(held.answer);
    const target = kit.target();
    const storeRetry = new AbortController();
    const sending = target.send(RECEIPT, { key: "r-1", signal: storeRetry.signal });
    await until("it is on its way", () => kit.server.keys.length === 1);
    storeRetry.abort();
    await expect(sending).rejects.toMatchObject({ code: "interrupted" });
    held.open();
    await until("it is delivered", async () => (await kit.item("r-1")).state === "done");
  });

  it("a value that is not JSON, and an invalid key, are refused before anything is stored", async () => {
    const target = kit.target();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    await expect(target.send(circle as never)).rejects.toMatchObject({ code: "usage" });
    await expect(target.send(undefined as never)).rejects.toMatchObject({ code: "usage" });
    await expect(target.send(RECEIPT, { key: "" })).rejects.toMatchObject({ code: "usage" });
    expect(await target.counts()).toMatchObject({ total: 0 });
  });

  it("a key with characters that a header does not allow is percent-encoded", async () => {
    await kit.target().send(RECEIPT, { key: "Beleg Ä/1" });
    expect(kit.server.keys).toEqual(["Beleg%20%C3%84%2F1"]);
  });

  it("the key can be sent in another header", async () => {
    await kit.target({ idHeader: "X-Request-Id" }).send(RECEIPT, { key: "r-1" });
    expect(kit.server.ledger[0]?.headers).toMatchObject({ "x-request-id": "r-1" });
    expect(kit.server.ledger[0]?.headers["idempotency-key"]).toBeUndefined();
  });
});

describe("the same receipt again", () => {
  it("is a success without a second delivery, by its content and by its key", async () => {
    const target = kit.target();
    expect(await target.send(RECEIPT)).toBe(true);
    expect(await target.send({ ...RECEIPT })).toBe(true);
    expect(await target.send({ n: 1 }, { key: "k" })).toBe(true);
    expect(await target.send({ n: 1 }, { key: "k", wait: false })).toMatchObject({ isNew: false });
    expect(kit.server.keys).toEqual([contentId(RECEIPT), "k"]);
  });

  it("reports which receipts of one batch are new, even beside duplicates and a conflict", async () => {
    const target = kit.target({ isDelivering: false });
    await target.send({ n: 0 }, { key: "old", wait: false });
    const keep = (n: number, key: string) =>
      target.send({ n }, { key, wait: false }).then(
        ({ isNew }) => isNew,
        ({ code }: RedriveError) => code,
      );
    const sent = [keep(1, "a"), keep(0, "old"), keep(2, "b"), keep(1, "a"), keep(9, "old"), keep(9, "b")];
    const conflict = "receipt_conflict";
    expect(await Promise.all(sent)).toEqual([true, false, true, false, conflict, conflict]);
  });

  it("sent many times at once is one receipt, and all callers learn its end", async () => {
    const target = kit.target();
    const sent = await Promise.all(Array.from({ length: 20 }, () => target.send(RECEIPT)));
    expect(sent).toEqual(new Array(20).fill(true));
    expect(kit.server.keys).toHaveLength(1);
  });

  it("is still dead if it was dead", async () => {
    kit.server.say(400);
    const target = kit.target();
    expect(await target.send(RECEIPT)).toBe(false);
    expect(await target.send(RECEIPT)).toBe(false);
    expect(kit.server.keys).toHaveLength(1);
  });

  it("with another body under the same key is a conflict, and does not delay others", async () => {
    const target = kit.target();
    expect(await target.send({ n: 1 }, { key: "k" })).toBe(true);
    const [conflict, other] = await Promise.allSettled([
      target.send({ n: 2 }, { key: "k" }),
      target.send({ n: 3 }, { key: "other" }),
    ]);
    expect(conflict).toMatchObject({ status: "rejected", reason: { code: "receipt_conflict" } });
    expect(other).toEqual({ status: "fulfilled", value: true });
    expect(kit.server.keys).toEqual(["k", "other"]);
  });

  it("with two bodies under one key at the same time: one is sent, the other is a conflict", async () => {
    const target = kit.target();
    const ends = await Promise.allSettled([
      target.send({ n: 1 }, { key: "k" }),
      target.send({ n: 2 }, { key: "k" }),
    ]);
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(kit.server.ledger.map(({ body }) => body)).toEqual(['{"n":1}']);
  });

  it("pitfall 37: two receipts of one lease are two", async () => {
    const target = kit.target();
    kit.server.say(422, 422);
    expect(await target.send({ ...RECEIPT, summary: "first" })).toBe(false);
    expect(await target.send({ ...RECEIPT, summary: "second" })).toBe(false);
    const { letters } = await kit.engine.listLetters({ queue: TARGET, order: "oldest", limit: 10 });
    expect(letters.map(({ itemData }) => (itemData as typeof RECEIPT).summary)).toEqual(["first", "second"]);
  });

  it("amended data has its own key, because it is another receipt", async () => {
    await kit.target({ isDelivering: false }).send({ n: 1 }, { key: "k", wait: false });
    await kit.engine.add(TARGET, [{ itemId: "k", data: { n: 2 } }], { replace: { author: "ann" } });
    const other = new Target(kit.engine, TARGET);
    await until("it is delivered", async () => (await kit.item("k")).state === "done");
    await other.close();
    expect(kit.server.ledger.map(({ key, body }) => [key, body])).toEqual([["k.r2", '{"n":2}']]);
  });
});

describe("order", () => {
  it("is kept for receipts with one ordering key, even if one of them is retried", async () => {
    kit.server.say(500, 200, 500);
    const target = kit.target({ breaker: null });
    const send = (n: number) => target.send({ n }, { key: `k${n}`, order: "lease-1", wait: false });
    const kept = [await send(1), await send(2), await send(3)];
    await Promise.all(kept.map((one) => one.delivered()));
    expect(kit.server.keys).toEqual(["k1", "k1", "k2", "k2", "k3"]);
  });

  it("follows a field of the receipts if the target names one", async () => {
    const held = gate();
    kit.server.otherwise = (entry, response) =>
      void (entry.key === "a1" ? held.answer(entry, response) : response.end());
    const target = kit.target({ orderField: "lease.id", concurrency: 5 });
    const send = (key: string, id: string) => target.send({ lease: { id }, key }, { key, wait: false });
    const kept = [await send("a1", "a"), await send("a2", "a"), await send("b1", "b")];
    await until("another lease goes ahead", () => kit.server.keys.includes("b1"));
    expect(kit.server.keys).not.toContain("a2");
    held.open();
    await Promise.all(kept.map((one) => one.delivered()));
    expect([...kit.server.keys].sort()).toEqual(["a1", "a2", "b1"]);
  });
});

describe("several processes", () => {
  it("a process that only accepts receipts learns their ends from the one that delivers", async () => {
    const taker = kit.target({ isDelivering: false });
    const kept = await taker.send(RECEIPT, { wait: false });
    expect(kit.server.ledger).toEqual([]);
    kit.target();
    expect(await kept.delivered()).toBe(true);
    expect(await taker.send(RECEIPT)).toBe(true);
  });

  it("a changed address applies from the next receipt on", async () => {
    const target = kit.target({ url: "http://127.0.0.1:9/nowhere" });
    await target.opened;
    await target.change({ url: kit.url });
    expect((await target.settings()).delivery.url).toBe(kit.url);
    expect(await target.send(RECEIPT)).toBe(true);
  });
});

describe("delivery options of this process", () => {
  it("report every attempt", async () => {
    kit.server.say(500, 200);
    const verdicts: string[] = [];
    const target = kit.target({
      onSettled: ({ itemId }, { verdict }) => verdicts.push(`${itemId} ${verdict.kind}`),
    });
    expect(await target.send(RECEIPT, { key: "k" })).toBe(true);
    expect(verdicts).toEqual(["k retry", "k done"]);
  });

  it("mark a letter as poison that failed again too often, with the given rules and author", async () => {
    kit.server.otherwise = { status: 422, body: { message: "no such lease" } };
    const target = kit.target({
      poisonAfter: 0,
      groupRules: [{ name: "leases that nobody knows", match: { text: "no such lease" } }],
    });
    expect(await target.send(RECEIPT, { key: "k" })).toBe(false);
    const letter = await kit.engine.readLetter((await kit.item("k")).ref);
    expect(letter).toMatchObject({
      errorPattern: expect.stringContaining("leases that nobody knows"),
      poison: true,
    });
  });

  it("give up on an unavailable store after the given time", async () => {
    const errors: unknown[] = [];
    const away = async () => {
      throw new RedriveError("store_unavailable", "no connection");
    };
    const engine = { ...kit.engine, findJob: away };
    const target = new Target(engine, TARGET, {
      url: kit.url,
      storeWaitMs: 0,
      onError: (error) => errors.push(error),
    });
    await expect(target.opened).rejects.toMatchObject({ code: "store_unavailable" });
    expect(errors).toHaveLength(1);
    await target.close();
  });
});

describe("ending", () => {
  it("a drain delivers what waits, accepts nothing more, and returns what remains", async () => {
    const held = gate();
    kit.server.say(held.answer);
    const target = kit.target({ concurrency: 1 });
    for (let n = 0; n < 5; n += 1) await target.send({ n }, { wait: false });
    const drained = target.drain();
    await expect(target.send({ n: 6 })).rejects.toMatchObject({ code: "interrupted" });
    held.open();
    expect(await drained).toEqual({ left: 0 });
    expect(kit.server.keys).toHaveLength(5);
  });

  it("what the deadline leaves is released without an attempt, and continues when the target is opened again", async () => {
    const never = gate();
    kit.server.say(never.answer);
    const target = kit.target({ concurrency: 1 });
    const sending = target.send({ n: 0 }, { key: "k0" });
    const waiting = sending.catch((error: unknown) => error);
    await target.send({ n: 1 }, { key: "k1", wait: false });
    await until("one is on its way", () => kit.server.keys.length === 1);
    expect(await target.drain(50)).toEqual({ left: 2 });
    expect(await waiting).toMatchObject({ code: "interrupted" });
    expect(await kit.item("k0")).toMatchObject({ state: "ready", attemptsCounted: 0 });
    expect(await kit.target().send({ n: 0 }, { key: "k0" })).toBe(true);
    expect(await kit.outcomes("k0")).toEqual(["released", "succeeded"]);
  });

  it("a close ends a drain early", async () => {
    kit.server.otherwise = () => undefined;
    const target = kit.target();
    await target.send(RECEIPT, { wait: false });
    const drained = target.drain(3_600_000);
    await until("it is on its way", () => kit.server.keys.length === 1);
    await target.close();
    expect(await drained).toEqual({ left: 1 });
  });

  it("nothing is awaited from a paused target", async () => {
    const target = kit.target();
    await target.opened;
    await target.pause({ author: "ann", reason: "maintenance" });
    await target.send(RECEIPT, { wait: false });
    expect(await target.drain(3_600_000)).toEqual({ left: 1 });
  });

  it("a pause holds receipts back until it ends", async () => {
    const paused: boolean[] = [];
    const target = kit.target({ onPaused: (isPaused) => paused.push(isPaused) });
    await target.opened;
    await target.pause();
    const sending = target.send(RECEIPT);
    await until("it was found paused", () => paused.includes(true));
    expect(kit.server.ledger).toEqual([]);
    await target.resume();
    expect(await sending).toBe(true);
  });
});

describe("an unavailable store", () => {
  const broken = (engine: Engine, isBroken: () => boolean): Engine => ({
    ...engine,
    add: async (...args) => {
      if (isBroken()) throw new RedriveError("store_full", "no space left");
      return engine.add(...args);
    },
  });

  it("rejects what is sent: nothing was accepted, and nothing is sent", async () => {
    let isBroken = true;
    const target = new Target(
      broken(kit.engine, () => isBroken),
      TARGET,
      { url: kit.url },
    );
    await expect(target.send(RECEIPT)).rejects.toMatchObject({ code: "store_full" });
    expect(await target.counts()).toMatchObject({ total: 0 });
    isBroken = false;
    expect(await target.send(RECEIPT)).toBe(true);
    expect(kit.server.keys).toHaveLength(1);
    await target.close();
  });

  it("that is missing at the start is waited for, and senders are told meanwhile", async () => {
    let isDown = true;
    const troubles: unknown[] = [];
    const target = new Target(
      {
        ...kit.engine,
        findJob: async (name) => {
          if (isDown) throw new RedriveError("store_unavailable", "no connection");
          return kit.engine.findJob(name);
        },
      },
      TARGET,
      { url: kit.url, onError: (error) => troubles.push(error) },
    );
    await expect(target.send(RECEIPT)).rejects.toMatchObject({ code: "store_unavailable" });
    expect(troubles).toMatchObject([{ code: "store_unavailable" }]);
    isDown = false;
    await target.opened;
    expect(await target.send(RECEIPT)).toBe(true);
    await target.close();
  });

  it("that cannot be used any more is reported to waiting callers, and that the receipt is stored", async () => {
    let isBroken = false;
    const errors: unknown[] = [];
    const target = new Target(
      {
        ...kit.engine,
        settleAndLease: async (holder, request) => {
          if (isBroken) throw new Error("a bug of ours");
          return kit.engine.settleAndLease(holder, request);
        },
      },
      TARGET,
      { url: kit.url, onError: (error) => errors.push(error) },
    );
    await target.opened;
    isBroken = true;
    await expect(target.send(RECEIPT, { key: "k" })).rejects.toMatchObject({
      code: "interrupted",
      message: expect.stringContaining("a bug of ours"),
    });
    expect(errors).toHaveLength(1);
    expect(await kit.item("k")).toMatchObject({ data: RECEIPT });
    isBroken = false;
    await target.close();
  });

  it("an unknown target is reported to the sender", async () => {
    const target = new Target(kit.engine, "nobody");
    await expect(target.send(RECEIPT)).rejects.toMatchObject({ code: "job_not_found" });
    await expect(target.opened).rejects.toMatchObject({ code: "job_not_found" });
    await target.close();
  });
});
