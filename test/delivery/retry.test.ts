/** When a receipt is tried again, and when it is given up: every failed try counts, unless an outage is waited for. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { setTarget } from "../../src/delivery/target-settings.ts";
import { gateName } from "../../src/item/store-queries.ts";
import { DeliveryKit, RECEIPT, TARGET } from "./delivery-kit.ts";

let kit: DeliveryKit;
beforeEach(async () => {
  kit = await DeliveryKit.open("tested");
});
afterEach(() => kit.close());

const now = () => kit.clock?.now() ?? 0;

/** Fails as told, and writes down when it was called. */
function failing(...errors: readonly (object | null)[]) {
  const times: number[] = [];
  const deliver = () => {
    const error = errors[Math.min(times.length, errors.length - 1)];
    times.push(now());
    if (error) throw Object.assign(new Error("no"), error);
  };
  return {
    times,
    deliver,
    waits: () => times.slice(1).map((time, n) => Math.round((time - (times[n] ?? 0)) / 100) / 10),
  };
}

/** Waits for the end of what was sent while time passes. */
async function ended<T>(sending: Promise<T>): Promise<T> {
  let isOver = false;
  void sending
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
    });
  await kit.until("it has ended", () => isOver);
  return sending;
}

const SERVER_ERROR = { status: 500 };

describe("attempts", () => {
  it.each([
    ["a server error", SERVER_ERROR, "server_error"],
    ["a service that is away", { status: 503 }, "server_error"],
    ["a rate limit", { status: 429 }, "throttled"],
    ["a rate limit that names a shorter wait", { status: 429, retryAfterMs: 1000 }, "throttled"],
    ["a refused connection", { code: "ECONNREFUSED" }, "transport_error"],
  ])(
    "five for %s, after 0, 2, 4, 8 and 16 seconds, then the receipt is a letter",
    async (_, error, status) => {
      const { times, deliver, waits } = failing(error);
      const target = kit.target({ deliver, backoffBase: 2 });
      await target.opened;
      const sentAt = now();
      expect(await ended(target.send(RECEIPT, { key: "k" }))).toBe(false);
      expect((times[0] ?? 0) - sentAt).toBeLessThan(200);
      expect(waits()).toEqual([2, 4, 8, 16]);
      expect(await kit.outcomes("k")).toEqual(new Array(5).fill("failed"));
      expect(await kit.statuses()).toEqual({ [status]: 5 });
      const [letter] = (await kit.engine.listLetters({ queue: TARGET, order: "oldest", limit: 1 })).letters;
      expect(letter).toMatchObject({ reason: "out of retries (5 of 5 attempts used)", itemData: RECEIPT });
    },
  );

  it("several in flight count like one, and the next receipt to a healthy target is sent at once", async () => {
    let isDown = true;
    const times = new Map<string, number[]>();
    const target = kit.target({
      backoffBase: 2,
      deliver: (_receipt, { key }) => {
        times.set(key, [...(times.get(key) ?? []), now()]);
        if (isDown) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      },
    });
    await target.opened;
    const sent = Array.from({ length: 8 }, (_, n) => target.send({ n }, { key: `k${n}` }));
    expect(await ended(Promise.all(sent))).toEqual(new Array(8).fill(false));
    for (const tries of times.values())
      expect(tries.slice(1).map((time, n) => Math.round((time - (tries[n] ?? 0)) / 1000))).toEqual([
        2, 4, 8, 16,
      ]);
    expect(await target.counts()).toMatchObject({ dead: 8, ready: 0 });
    isDown = false;
    const begun = now();
    expect(await ended(target.send({ n: 9 }, { key: "next" }))).toBe(true);
    expect((times.get("next")?.[0] ?? 0) - begun).toBeLessThan(1000);
  });

  it("another base gives other waits, and a custom backoff any", async () => {
    const first = failing(SERVER_ERROR);
    const target = kit.target({ deliver: first.deliver, backoffBase: 3, retries: 2, breaker: null });
    expect(await ended(target.send(RECEIPT))).toBe(false);
    expect(first.waits()).toEqual([3, 9]);
    await ended(target.change({ backoff: { kind: "list", delaysMs: [5000, 1000], jitter: false } }));
    const clock = now();
    await kit.until("the new settings are known", () => now() > clock + 5000);
    first.times.length = 0;
    expect(await ended(target.send({ n: 2 }))).toBe(false);
    expect(first.waits()).toEqual([5, 1]);
  });

  it("pitfall 39: 0 retries means 0", async () => {
    const { times, deliver } = failing(SERVER_ERROR);
    expect(await ended(kit.target({ deliver, retries: 0 }).send(RECEIPT))).toBe(false);
    expect(times).toHaveLength(1);
  });

  it("a refusal is not retried", async () => {
    const { times, deliver } = failing({ status: 422 });
    expect(await ended(kit.target({ deliver }).send(RECEIPT))).toBe(false);
    expect(times).toHaveLength(1);
    expect(await kit.statuses()).toEqual({ refused: 1 });
  });

  it("a receipt that waits for a retry occupies no slot", async () => {
    const target = kit.target({
      concurrency: 1,
      backoffBase: 60,
      breaker: null,
      deliver: (receipt) => {
        if (receipt === "slow") throw Object.assign(new Error("no"), SERVER_ERROR);
      },
    });
    await ended(target.send("slow", { wait: false }));
    const begun = now();
    expect(await ended(target.send("quick"))).toBe(true);
    expect(now() - begun).toBeLessThan(30_000);
  });
});

it("the end of a receipt that has already ended is known at once", async () => {
  const { deliver } = failing(null, { status: 422 });
  const target = kit.target({ deliver });
  expect(await ended(target.send({ n: 1 }))).toBe(true);
  expect(await ended(target.send({ n: 2 }))).toBe(false);
  expect([await target.send({ n: 1 }), await target.send({ n: 2 })]).toEqual([true, false]); // the time stands still
});

it("a protocol that ignores a stop is not awaited: its receipt is released without an attempt", async () => {
  let tries = 0;
  const deliver = () => {
    tries += 1;
    return new Promise<never>(() => undefined);
  };
  const target = kit.target({ deliver: { deliver } });
  await ended(target.send(RECEIPT, { key: "k", wait: false }));
  await kit.until("it is on its way", () => tries === 1);
  await ended(target.close());
  expect(await kit.item("k")).toMatchObject({ state: "ready", attemptsCounted: 0 });
});

describe("settings", () => {
  it("that another process changes apply from the next receipt on, after at most two seconds", async () => {
    const target = kit.target({ url: "http://127.0.0.1:9/nowhere" });
    await target.opened;
    await setTarget(kit.engine, TARGET, { url: kit.url });
    kit.clock?.advance(2000);
    expect(await ended(target.send(RECEIPT))).toBe(true);
    expect(await kit.statuses()).toEqual({ delivered: 1 });
  });

  it.each(["rate", "ownRate"])("the %s of a target holds for its receipts", async (name) => {
    const { deliver, times } = failing(null);
    const target = kit.target({ deliver, [name]: { perSecond: 1 } });
    await ended(Promise.all([1, 2, 3].map((n) => target.send({ n }))));
    expect((times[2] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(1900);
  });

  it("a receipt whose process dies too often is a letter, after the target's number of losses", async () => {
    await ended(kit.target({ lossesMax: 1, isDelivering: false }).send(RECEIPT, { key: "k", wait: false }));
    const holder = {
      id: "gone",
      queue: TARGET,
      host: "another host",
      pid: 1,
      processStart: "then",
      ttlMs: 8000,
    };
    await kit.engine.registerHolder(holder);
    await kit.engine.settleAndLease("gone", { settle: [], lease: { queue: TARGET, max: 1 } });
    kit.clock?.advance(8000);
    const { deliver, times } = failing(null);
    expect(await ended(kit.target({ deliver }).send(RECEIPT, { key: "k" }))).toBe(false);
    expect(times).toEqual([]);
  });
});

describe("pitfall 39: Retry-After", () => {
  it("lengthens the wait before the next attempt, which counts", async () => {
    const { deliver, waits } = failing({ status: 429, retryAfterMs: 7000 }, null);
    const target = kit.target({ deliver });
    expect(await ended(target.send(RECEIPT, { key: "k" }))).toBe(true);
    expect(waits()).toEqual([7]);
    expect(await kit.item("k")).toMatchObject({ state: "done", attemptsCounted: 1 });
    expect(await kit.statuses()).toEqual({ throttled: 1, delivered: 1 });
  });

  it("of a real answer does so too", async () => {
    const times: number[] = [];
    const noting =
      (status: number, headers = {}) =>
      (_entry: unknown, response: { writeHead(n: number, h: object): { end(): void } }) => {
        times.push(now());
        response.writeHead(status, headers).end();
      };
    kit.server.say(
      noting(429, { "retry-after": "9" }) as never,
      noting(503, { "retry-after": "5" }) as never,
      noting(200) as never,
    );
    expect(await ended(kit.target({}).send(RECEIPT))).toBe(true);
    const waits = times.slice(1).map((time, n) => (time - (times[n] ?? 0)) / 1000);
    expect(waits[0]).toBeGreaterThanOrEqual(9);
    expect(waits[1]).toBeGreaterThanOrEqual(5);
  });

  it("with onOutage: wait counts no attempt, and holds for the whole target", async () => {
    const { deliver, waits } = failing({ status: 429, retryAfterMs: 7000 }, null);
    const target = kit.target({ deliver, retries: 0, onOutage: "wait" });
    expect(await ended(target.send(RECEIPT, { key: "k" }))).toBe(true);
    expect(waits()).toEqual([7]);
    expect(await kit.item("k")).toMatchObject({ state: "done", attemptsCounted: 0 });
  });
});

describe("an outage with onOutage: wait", () => {
  it("pitfall 43: delays, counts no attempt and buries nothing", async () => {
    await kit.proxy.refuse();
    const target = kit.target({ retries: 0, backoffBase: 2, onOutage: "wait" });
    const sending = Array.from({ length: 8 }, (_, n) => target.send({ n }, { key: `k${n}` }));
    const begun = now();
    await kit.until("an hour has passed", () => now() > begun + 3_600_000, 1000);
    expect(await target.counts()).toMatchObject({ dead: 0, ready: 8 });
    expect((await kit.statuses()).transport_error).toBeGreaterThan(8);
    await kit.proxy.accept();
    expect(await ended(Promise.all(sending))).toEqual(new Array(8).fill(true));
    for (let n = 0; n < 8; n += 1)
      expect(await kit.item(`k${n}`)).toMatchObject({ state: "done", attemptsCounted: 0 });
    expect(new Set(kit.server.keys).size).toBe(8);
  });

  it("is waited for until the limit; then the receipts are letters", async () => {
    await kit.proxy.refuse();
    const target = kit.target({ retries: 0, backoffBase: 2, onOutage: "wait", outageMsMax: 300_000 });
    const begun = now();
    const sending = Promise.all([1, 2, 3].map((n) => target.send({ n })));
    expect(await ended(sending)).toEqual([false, false, false]);
    expect(now() - begun).toBeGreaterThanOrEqual(300_000);
    expect(now() - begun).toBeLessThan(600_000);
  });
});

describe("a breaker", () => {
  it("pitfall 43: opens in an outage, so that the target is not called all the time, and closes afterwards", async () => {
    let isDown = true;
    let knocks = 0;
    const target = kit.target({
      backoffBase: 0,
      breaker: {},
      deliver: () => {
        knocks += 1;
        if (isDown) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      },
    });
    const sending = Promise.all(Array.from({ length: 20 }, (_, n) => target.send({ n })));
    const begun = now();
    await kit.until("ten minutes have passed", () => now() > begun + 600_000, 500);
    expect(knocks).toBeLessThan(120);
    isDown = false;
    expect(await ended(sending)).toEqual(new Array(20).fill(true));
    const types = (await kit.engine.listEvents({ queue: TARGET, after: 0, limit: 10_000 })).map(
      ({ type }) => type,
    );
    expect(types).toContain("breaker_opened");
    expect(types).toContain("breaker_closed");
  });

  it("refusals do not open the breaker", async () => {
    const { deliver } = failing({ status: 400 });
    const target = kit.target({ deliver, breaker: { failureThreshold: 2 } });
    const ends = await ended(Promise.all(Array.from({ length: 10 }, (_, n) => target.send({ n }))));
    expect(ends).toEqual(new Array(10).fill(false));
    expect(await kit.engine.readDocument(gateName(TARGET))).toBeNull();
  });

  it("pitfall 41: a cancelled probe does not keep the breaker half open forever", async () => {
    let isDown = true;
    let held = 0;
    const deliver = (_receipt: unknown, { signal }: { signal: AbortSignal }) => {
      if (isDown) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      held += 1;
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
      );
    };
    const breaker = { failureThreshold: 1, halfOpenRequests: 1, successThreshold: 1 };
    const first = kit.target({ deliver, breaker, timeoutMs: 3_600_000 });
    await ended(first.send(RECEIPT, { key: "k", wait: false }));
    await kit.until("it was tried", async () => (await kit.statuses()).transport_error === 1);
    isDown = false;
    await kit.until("a probe is out", () => held === 1);
    await ended(first.close());
    const second = kit.target({ deliver: () => undefined });
    expect(await ended(second.send(RECEIPT, { key: "k" }))).toBe(true);
    expect(await ended(second.send({ n: 2 }))).toBe(true);
  });
});

describe("a lost answer", () => {
  it("pitfall 36: the same key is sent again, and `already done` delivers", async () => {
    const seen = new Set<string>();
    kit.server.otherwise = ({ key }, response) => {
      const isAgain = seen.has(key);
      seen.add(key);
      response.writeHead(isAgain ? 409 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(isAgain ? { code: "already_completed" } : { ok: true }));
    };
    kit.proxy.fail("reset_after_request", 1);
    const target = kit.target({ backoffBase: 2 });
    expect(await ended(target.send(RECEIPT, { key: "k" }))).toBe(true);
    expect(kit.server.keys).toEqual(["k", "k"]);
    expect(await kit.statuses()).toEqual({ unknown: 1, delivered: 1 });
    expect(await target.counts()).toMatchObject({ done: 1, letters: 0 });
    const results = await kit.engine.listResults(TARGET, { after: 0, limit: 1 });
    expect(results).toMatchObject([{ result: { already_done: true } }]);
  });

  it("counts an attempt each time, because the receipt may be the cause", async () => {
    kit.proxy.fail("reset_after_request");
    const target = kit.target({ retries: 2, breaker: null });
    expect(await ended(target.send(RECEIPT, { key: "k" }))).toBe(false);
    expect(kit.server.keys).toEqual(["k", "k", "k"]);
    expect((await kit.failures("k")).map(([type, errorClass]) => [type, errorClass])).toEqual(
      new Array(3).fill(["TransportError", "transient"]),
    );
  });
});
