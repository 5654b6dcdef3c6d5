/** How many statements the usual calls send: over a network, each one that is waited for costs a round trip. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Engine } from "../../../src/engine.ts";
import { openPostgresEngine } from "../../../src/engines/postgres/open.ts";
import { addItems, openQueueIntake } from "../../../src/queue/add-items.ts";
import { itemHandler } from "../../../src/queue/queue.ts";
import { createQueue } from "../../../src/queue/queue-settings.ts";
import { Worker } from "../../../src/queue/worker.ts";
import { randomName } from "../../../src/std/random.ts";
import { FaultInjector } from "../../support/fault-injector.ts";
import { dropSchema, postgresUrl } from "../../support/postgres-stores.ts";

const ITEMS = 30;
/** Heartbeats and other background work of a slow machine. */
const OTHERS_MAX = 8;
const schema = `test_${randomName(10)}`;
let watched: FaultInjector;
let engine: Engine;

beforeAll(async () => {
  watched = new FaultInjector(postgresUrl(schema));
  engine = await openPostgresEngine({ url: postgresUrl(schema), connections: watched.connections });
});

afterAll(async () => {
  await engine.close();
  await watched.connections.end();
  await dropSchema(schema);
});

it("a worker that runs one item at a time sends one statement per item", async () => {
  await createQueue(engine, "work");
  await addItems(
    engine,
    "work",
    Array.from({ length: ITEMS + 2 }, (_, n) => ({ data: n })),
  );
  const counts: number[] = [];
  const handler = itemHandler(async () => counts.push(watched.queries), { now: Date.now });
  await new Worker(engine, "work", { handler, concurrency: 1, untilEmpty: true, abandonAfterMs: 5000 }).ended;
  expect(counts).toHaveLength(ITEMS + 2);
  // The first step reads the holder in a transaction.
  const [, first = 0] = counts;
  expect((counts.at(-1) ?? 0) - first).toBeLessThanOrEqual(ITEMS + OTHERS_MAX);
  expect(await engine.count("work")).toMatchObject({ done: ITEMS + 2, attempts: ITEMS + 2 });
  expect(await engine.check()).toEqual([]);
});

it.each([
  ["with-a-key", (n: number) => ({ key: `k${n}`, data: n })],
  ["without-a-key", (n: number) => ({ data: n })],
])("one item %s is added by one statement", async (title, itemOf) => {
  await createQueue(engine, title);
  await addItems(engine, title, [itemOf(-1)]);
  const job = await engine.findJob(title);
  if (job === null) throw new Error("the queue is missing");
  const intake = await openQueueIntake(engine, job);
  await intake.add([itemOf(0)]);
  const before = watched.queries;
  for (let n = 1; n <= ITEMS; n += 1) await intake.add([itemOf(n)]);
  expect(watched.queries - before).toBe(ITEMS);
});
