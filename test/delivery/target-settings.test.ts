/** What a target is told: made, changed, adopted, and what is refused before anything is written. */
import { beforeEach, describe, expect, it } from "vitest";
import {
  changeTarget,
  setTarget,
  type TargetSettings,
  targetSpecOf,
} from "../../src/delivery/target-settings.ts";
import type { Engine } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import { requireQueue, requireTarget } from "../../src/queue/find-job.ts";
import { createQueue } from "../../src/queue/queue-settings.ts";

let engine: Engine;
beforeEach(() => {
  engine = openMemoryEngine();
});

const URL_ = "https://asyncgate.example/complete";
const specOf = async (name = "gate") => targetSpecOf(await requireTarget(engine, name));
const changes = async () =>
  (await engine.listEvents({ types: ["queue_changed"], after: 0, limit: 10 })).map(
    ({ data }) => data?.settings,
  );

describe("a target", () => {
  it("has five attempts, 2, 4, 8 and 16 seconds apart, no breaker, and ten seconds per attempt", async () => {
    await setTarget(engine, "gate", { url: URL_ });
    expect(await engine.findJob("gate")).toMatchObject({
      id: "gate",
      name: "gate",
      kind: "target",
      status: "running",
    });
    expect(await specOf()).toMatchObject({
      policy: {
        maxAttempts: 5,
        lossesMax: 20,
        backoff: { kind: "exponential", initialMs: 2000, factor: 2, maxMs: 3_600_000, jitter: false },
        onItemFailure: "dlq",
      },
      delivery: {
        protocol: "http",
        url: URL_,
        tool: "asyncgate.complete",
        timeoutMs: 10_000,
        answerBytesMax: 1_048_576,
        idHeader: "Idempotency-Key",
      },
    });
    expect((await specOf()).policy).not.toHaveProperty("breaker");
  });

  it("stores its settings and the location of its token, never the token", async () => {
    const settings: TargetSettings = {
      protocol: "mcp",
      url: "http://127.0.0.1:9/mcp",
      headers: { "X-A": "1" },
      token: { env: "GATE_TOKEN" },
      tool: "gate.done",
      keyArgument: "request_id",
      timeoutMs: 5000,
      answerBytesMax: 1000,
      idHeader: "X-Key",
      orderField: "lease_id",
      retries: 7,
      backoffBase: 3,
      breaker: { failureThreshold: 2 },
      rate: { perSecond: 5 },
      leaseMs: 20_000,
      lossesMax: 4,
      description: "where receipts go",
    };
    await setTarget(engine, "gate", settings);
    const { policy, delivery, rate, leaseMs, description } = await specOf();
    expect(policy).toMatchObject({ maxAttempts: 8, lossesMax: 4, backoff: { initialMs: 3000, factor: 3 } });
    expect(policy.breaker?.failureThreshold).toBe(2);
    expect({ rate, leaseMs, description }).toEqual({
      rate: { perSecond: 5 },
      leaseMs: 20_000,
      description: "where receipts go",
    });
    const {
      protocol,
      url,
      headers,
      token,
      tool,
      keyArgument,
      timeoutMs,
      answerBytesMax,
      idHeader,
      orderField,
    } = settings;
    expect(delivery).toEqual({
      protocol,
      url,
      headers,
      token,
      tool,
      keyArgument,
      timeoutMs,
      answerBytesMax,
      idHeader,
      orderField,
    });
  });

  it("is changed by the given settings, which its event names; equal settings change nothing", async () => {
    await setTarget(engine, "gate", {
      url: URL_,
      headers: { "X-A": "1" },
      token: { env: "A" },
      rate: { perSecond: 1 },
      breaker: {},
    });
    await setTarget(engine, "gate", { timeoutMs: 500, retries: 0 });
    await setTarget(engine, "gate", { timeoutMs: 500 });
    await changeTarget(engine, "gate", { headers: null, token: null, rate: null, breaker: null });
    expect(await changes()).toEqual([
      ["maxAttempts", "timeoutMs"],
      ["breaker", "headers", "rate", "token"],
    ]);
    const { policy, delivery, rate } = await specOf();
    expect([policy.maxAttempts, policy.breaker, rate, delivery.headers, delivery.token]).toEqual([
      1,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(delivery).toMatchObject({ url: URL_, timeoutMs: 500 });
  });

  it("takes over letters that were imported under its name", async () => {
    await engine.createJob({ id: "receipts", name: "receipts", kind: "imported", spec: {} });
    await setTarget(engine, "receipts", { url: URL_ });
    expect(await engine.findJob("receipts")).toMatchObject({ kind: "target", status: "running" });
  });

  it("is not a queue, and a queue is not a target", async () => {
    await createQueue(engine, "orders");
    await setTarget(engine, "gate", { url: URL_ });
    await expect(setTarget(engine, "orders", { url: URL_ })).rejects.toMatchObject({ code: "job_changed" });
    await expect(requireTarget(engine, "orders")).rejects.toMatchObject({
      code: "job_not_found",
      message: "There is no target orders: it is a queue.",
      hint: "Existing targets: gate.",
    });
    await expect(requireQueue(engine, "gate")).rejects.toMatchObject({ code: "job_not_found" });
    await expect(changeTarget(engine, "gat", {})).rejects.toMatchObject({
      hint: "Did you mean gate? Existing targets: gate.",
    });
  });
});

describe("invalid settings are refused, and nothing is written", () => {
  it.each<[string, TargetSettings, string]>([
    ["no address", {}, "no URL"],
    [
      "no protocol of ours",
      { url: URL_, protocol: "smtp" as never },
      "settings.protocol: expected one of http, mcp, function",
    ],
    ["an address of another kind", { url: "ftp://host/" }, "must be an http or https address"],
    ["half an address", { url: "asyncgate.example" }, "must be an http or https address"],
    ["an address with a password", { url: "https://me:word@host/" }, "a user or a password"],
    ["a header with a secret", { url: URL_, headers: { Authorization: "Bearer x" } }, "is a secret"],
    ["a header of the connection", { url: URL_, headers: { "Content-Length": "1" } }, "cannot be set"],
    ["a header that is none", { url: URL_, headers: { "X A": "1" } }, "cannot be sent as a header"],
    ["a header of two lines", { url: URL_, headers: { "X-A": "1\r\nX-B: 2" } }, "cannot be sent as a header"],
    ["a token itself", { url: URL_, token: "secret" as never }, "must be given as a location"],
    [
      "a token in two places",
      { url: URL_, token: { env: "A", file: "b" } as never },
      "must be given as a location",
    ],
    ["an empty tool", { url: URL_, tool: " " }, "settings.tool: expected the name of a tool"],
    ["no time", { url: URL_, timeoutMs: 0 }, "timeoutMs"],
    ["no room for an answer", { url: URL_, answerBytesMax: 0 }, "answerBytesMax"],
    ["fewer than no retries", { url: URL_, retries: -1 }, "settings.retries"],
    ["a negative base", { url: URL_, backoffBase: -1 }, "backoffBase"],
    ["a header name for the key that is none", { url: URL_, idHeader: "" }, "cannot be sent as a header"],
  ])("%s", async (_name, settings, message) => {
    await expect(setTarget(engine, "gate", settings)).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining(message),
    });
    expect(await engine.findJob("gate")).toBeNull();
  });

  it("a token in the wrong place is not part of the error", async () => {
    const error = await setTarget(engine, "gate", { url: "https://me:hunter2@host/" }).catch(
      (thrown: unknown) => thrown,
    );
    expect(String(error)).not.toContain("hunter2");
  });
});
