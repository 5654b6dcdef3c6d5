/** Of several servers of one store one drives an operation, and another one takes over when it dies. */
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../src/engines/open.ts";
import { LEASE_MS, OperationLeases } from "../../src/server/operation-leases.ts";
import { TestClock } from "../support/test-clock.ts";

async function twoServers() {
  const clock = new TestClock();
  const engine = await openStore("memory:", { clock });
  onTestFinished(() => engine.close());
  return { clock, engine, one: new OperationLeases(engine), other: new OperationLeases(engine) };
}

test("the first one that takes a lease keeps it as long as it renews it", async () => {
  const { clock, one, other } = await twoServers();
  expect(await one.take("op-1")).toBe(true);
  expect(await other.take("op-1")).toBe(false);
  expect(await other.take("op-2")).toBe(true);
  await clock.advance(LEASE_MS - 1);
  expect(await one.take("op-1")).toBe(true);
  await clock.advance(LEASE_MS - 1);
  expect(await other.take("op-1")).toBe(false);
});

test("a lease that was released or has expired can be taken", async () => {
  const { clock, one, other } = await twoServers();
  await one.take("op-1");
  await one.release("op-1");
  expect(await other.take("op-1")).toBe(true);
  await one.release("op-1"); // it is not its own
  expect(await one.take("op-1")).toBe(false);
  await clock.advance(LEASE_MS);
  expect(await one.take("op-1")).toBe(true);
  expect(await other.take("op-1")).toBe(false);
});

test("of many that ask at once, one gets it", async () => {
  const { engine } = await twoServers();
  const asked = Array.from({ length: 10 }, () => new OperationLeases(engine).take("op-1"));
  expect((await Promise.all(asked)).filter((isTaken) => isTaken)).toHaveLength(1);
});

test("leases that ended long ago are forgotten", async () => {
  const { clock, engine, one } = await twoServers();
  for (let n = 0; n < 20; n += 1) await one.take(`op-${n}`);
  await clock.advance(3 * LEASE_MS);
  await one.take("op-new");
  const document = await engine.readDocument("server/operations");
  expect(document?.body).toMatchObject({ leases: { "op-new": {} } });
  expect(JSON.stringify(document?.body)).not.toContain("op-1");
});
