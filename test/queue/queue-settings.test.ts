/** Making a queue and changing what it is told. */
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/engines/open.ts";
import { changeQueue, createQueue } from "../../src/queue/queue-settings.ts";
import { backoffToText, durationToText, queueSpecOf, rateToText } from "../../src/queue/queue-spec.ts";
import { parseBackoff } from "../../src/retry/backoff.ts";

describe("a new queue", () => {
  it("has the given settings and defaults for the others", async () => {
    const engine = await openStore("memory:");
    const job = await createQueue(engine, "invoices", {
      maxRetries: 5,
      breaker: { failureThreshold: 7 },
      rate: { perSecond: 2 },
      unique: "return",
    });
    expect(job).toMatchObject({ id: "invoices", name: "invoices", kind: "queue", status: "running" });
    expect(queueSpecOf(job)).toMatchObject({
      policy: { maxAttempts: 6, breaker: { failureThreshold: 7, timeoutMs: 30_000 } },
      leaseMs: 8000,
      priority: "normal",
      unique: "return",
      rate: { perSecond: 2 },
    });
  });

  it("is the existing one if it is created with the same settings, and refused otherwise", async () => {
    const engine = await openStore("memory:");
    const first = await createQueue(engine, "invoices", { maxRetries: 1 });
    expect(await createQueue(engine, "invoices", { maxRetries: 1 })).toEqual(first);
    await expect(createQueue(engine, "invoices")).rejects.toMatchObject({ code: "job_changed" });
  });

  it("takes over letters that were imported under its name", async () => {
    const engine = await openStore("memory:");
    await engine.createJob({ id: "invoices", name: "invoices", kind: "imported", spec: {} });
    await engine.changeJob("invoices", { status: "completed" });
    expect(await createQueue(engine, "invoices")).toMatchObject({ kind: "queue", status: "running" });
  });

  it("cannot have the name of a job", async () => {
    const engine = await openStore("memory:");
    await engine.createJob({ id: "resize-1", name: "resize", kind: "map", spec: {} });
    await expect(createQueue(engine, "resize")).rejects.toMatchObject({ code: "job_changed" });
    await expect(createQueue(engine, "resize-1")).rejects.toMatchObject({ code: "job_changed" });
  });

  it.each(["", "a b", "a/b", "..", "-x", "a\nb", "x".repeat(101), "a\\b"])(
    "cannot be called %j",
    async (name) => {
      const engine = await openStore("memory:");
      await expect(createQueue(engine, name)).rejects.toMatchObject({ code: "usage" });
    },
  );

  it.each(["a", "acme.invoices-2", "Rechnungen_2030", "größe", "x".repeat(100)])(
    "can be called %s",
    async (name) => {
      const engine = await openStore("memory:");
      expect((await createQueue(engine, name)).id).toBe(name);
    },
  );

  it.each([
    { maxRetries: -1 },
    { maxRetries: 1.5 },
    { leaseMs: 999 },
    { leaseMs: Number.NaN },
    { rate: { perSecond: 0 } },
    { expiresAfterMs: 0 },
    { breaker: { failureThreshold: 0 } },
    { lossesMax: 0 },
    { schema: { type: "nonsense" } },
    { schema: { $dynamicRef: "#a" } },
  ])("is refused with %j, and nothing is written", async (settings) => {
    const engine = await openStore("memory:");
    await expect(createQueue(engine, "q", settings)).rejects.toMatchObject({ code: "usage" });
    expect(await engine.findJob("q")).toBeNull();
  });
});

describe("a changed queue", () => {
  it("keeps settings that are not named, loses those that are null, and names the changed ones in its event", async () => {
    const engine = await openStore("memory:");
    await createQueue(engine, "q", { maxRetries: 1, rate: { perSecond: 1 }, schema: { type: "object" } });
    const job = await changeQueue(engine, "q", { rate: null, schema: null, breaker: { timeoutMs: 500 } });
    const spec = queueSpecOf(job);
    expect(spec.policy.maxAttempts).toBe(2);
    expect(spec.policy.breaker).toMatchObject({ timeoutMs: 500, failureThreshold: 5 });
    expect(spec).not.toHaveProperty("rate");
    expect(spec).not.toHaveProperty("schema");
    const [event] = await engine.listEvents({ queue: "q", types: ["queue_changed"], after: 0, limit: 10 });
    expect(event?.data).toEqual({ settings: ["breaker", "rate", "schema"] });
  });

  it("writes no event if nothing changes", async () => {
    const engine = await openStore("memory:");
    await createQueue(engine, "q");
    await changeQueue(engine, "q", { maxRetries: 2 });
    expect(await engine.listEvents({ types: ["queue_changed"], after: 0, limit: 10 })).toEqual([]);
  });

  it("must exist; the error names the existing ones", async () => {
    const engine = await openStore("memory:");
    await createQueue(engine, "invoices");
    await createQueue(engine, "orders");
    await expect(changeQueue(engine, "invocies", {})).rejects.toMatchObject({
      code: "job_not_found",
      hint: "Did you mean invoices? Existing queues: invoices, orders.",
    });
  });
});

describe("settings as text", () => {
  it.each([
    "exponential:1s:30s",
    "exponential:250ms:5m:3:nojitter",
    "linear:1s:30s",
    "fibonacci:2s:1h",
    "fixed:5s",
    "list:1s,5s,1m",
    "none",
  ])("%s is written as it is read", (text) => expect(backoffToText(parseBackoff(text))).toBe(text));

  it("durations and rates are written in the unit that fits", () => {
    expect([90_000, 60_000, 1500, 7_200_000].map(durationToText)).toEqual(["90s", "1m", "1500ms", "2h"]);
    expect([10, 100 / 60, 1000 / 3600].map(rateToText)).toEqual(["10/s", "100/m", "1000/h"]);
  });
});
