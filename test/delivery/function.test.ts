/** A function of the service, or a protocol of one's own, as the way to the other side. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { functionProtocol } from "../../src/delivery/function.ts";
import type { Protocol } from "../../src/delivery/protocol.ts";
import { DEFAULT_TARGET } from "../../src/delivery/target-settings.ts";
import { BusinessException, ITException } from "../../src/retry/thrown.ts";
import { until } from "../support/until.ts";
import { DeliveryKit, RECEIPT, TARGET } from "./delivery-kit.ts";

const settings = { ...DEFAULT_TARGET.delivery, protocol: "function" as const };
const call = { key: "k", attempt: 2, signal: new AbortController().signal, settings };
const throwing = (error: unknown) =>
  functionProtocol(() => {
    throw error;
  }).deliver(RECEIPT, call);
const withFields = (fields: object) => Object.assign(new Error("no"), fields);

describe("a function", () => {
  it("gets the receipt, its key and the number of the attempt", async () => {
    const seen: unknown[] = [];
    const outcome = await functionProtocol((...args) => void seen.push(args)).deliver(RECEIPT, call);
    expect(outcome).toEqual({ status: "delivered" });
    expect(seen).toMatchObject([[RECEIPT, { key: "k", attempt: 2 }]]);
  });

  it.each<[string, unknown, object]>([
    [
      "a business exception",
      new BusinessException("no VAT id"),
      { status: "refused", errorClass: "permanent" },
    ],
    ["an IT exception", new ITException("down"), { status: "server_error", errorClass: "transient" }],
    ["anything", "a text", { status: "server_error", errorClass: "unknown" }],
    ["a status of 422", withFields({ status: 422 }), { status: "refused" }],
    ["a status of 401", withFields({ status: 401 }), { status: "auth" }],
    [
      "a status of 429",
      withFields({ statusCode: 429, retryAfterMs: 50 }),
      { status: "throttled", retryAfterMs: 50 },
    ],
    ["a status of 500", withFields({ status: 500 }), { status: "server_error" }],
    [
      "a refused connection",
      withFields({ code: "ECONNREFUSED" }),
      { status: "transport_error", errorClass: "outage" },
    ],
    [
      "a broken connection",
      withFields({ code: "ECONNRESET" }),
      { status: "unknown", errorClass: "transient" },
    ],
    [
      "a cause with a code",
      new Error("fetch failed", { cause: withFields({ code: "ENOTFOUND" }) }),
      { status: "transport_error" },
    ],
  ])("that throws %s", async (_name, error, outcome) => {
    expect(await throwing(error)).toMatchObject(outcome);
  });

  it("is told when it exceeds the time limit, and is not awaited", async () => {
    const ended: unknown[] = [];
    const protocol = functionProtocol((_receipt, { signal }) => {
      signal.addEventListener("abort", () => ended.push(signal.reason));
      return new Promise(() => undefined);
    });
    const outcome = await protocol.deliver(RECEIPT, { ...call, settings: { ...settings, timeoutMs: 20 } });
    expect(outcome).toMatchObject({ status: "unknown", message: "The function took longer than 20 ms" });
    expect(ended).toHaveLength(1);
  });
});

it("leaves no timer behind when it has ended", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    await functionProtocol(() => undefined).deliver(RECEIPT, call);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

describe("a target with a delivery function", () => {
  let kit: DeliveryKit;
  beforeEach(async () => {
    kit = await DeliveryKit.open();
  });
  afterEach(() => kit.close());

  it("needs no address, and reports a missing function", async () => {
    const target = kit.target({ deliver: () => undefined });
    expect(await target.send(RECEIPT)).toBe(true);
    expect((await target.settings()).delivery.protocol).toBe("function");
    await target.close();
    const bare = kit.target({ isDelivering: true });
    await expect(bare.send({ n: 2 })).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining("function"),
    });
    expect(await kit.engine.count(TARGET)).toMatchObject({ total: 1 });
  });

  it("calls, probes and closes a custom protocol", async () => {
    const asked: string[] = [];
    const deliver: Protocol = {
      deliver: async (_receipt, { key }) => {
        asked.push(key);
        return { status: "delivered" };
      },
      probe: async () => ({ isReachable: false, detail: "away" }),
      close: async () => void asked.push("closed"),
    };
    const target = kit.target({ deliver });
    expect(await target.send(RECEIPT, { key: "k" })).toBe(true);
    expect(await target.probe()).toEqual({ isReachable: false, detail: "away" });
    await target.close();
    expect(asked).toEqual(["k", "closed"]);
  });

  it("a protocol that throws has made no attempt: nothing is counted, and the receipt is tried again", async () => {
    let tries = 0;
    const target = kit.target({
      retries: 0,
      deliver: {
        deliver: async () => {
          tries += 1;
          if (tries === 1) throw new Error("a bug of ours");
          return { status: "delivered" };
        },
      },
    });
    expect(await target.send(RECEIPT, { key: "k" })).toBe(true);
    expect(await kit.outcomes("k")).toEqual(["released", "succeeded"]);
    const faults = await kit.engine.listEvents({
      queue: TARGET,
      types: ["runner_failed"],
      after: 0,
      limit: 10,
    });
    expect(faults).toMatchObject([{ data: { message: "a bug of ours" } }]);
  });

  it("another protocol is used as soon as the settings name it", async () => {
    const target = kit.target({ deliver: () => undefined });
    await target.send({ n: 1 });
    await target.change({ protocol: "http", url: kit.url });
    expect(await target.send({ n: 2 })).toBe(true);
    await until("it was posted", () => kit.server.ledger.length === 1);
  });
});
