/** Transactions end in any order. Who reads events with a cursor misses none of them all the same. */
import { afterAll, expect, it } from "vitest";
import { listEvents, writeEvent } from "../../../src/engines/postgres/events.ts";
import { migrate } from "../../../src/engines/postgres/migrate.ts";
import { Session } from "../../../src/engines/postgres/session.ts";
import { postgresStores, postgresUrl } from "../../support/postgres-stores.ts";
import { until } from "../../support/until.ts";

const stores = postgresStores();
afterAll(() => stores.remove());

it("an event is held back while an older one may yet be committed", async () => {
  const engine = await stores.open();
  await engine.createJob({ id: "q", name: "q", kind: "queue", spec: {} });
  const session = new Session({ url: postgresUrl(stores.schemaOf(engine)) });
  await migrate(session);
  let [hasBegun, mayEnd] = [false, false];
  const slow = session.write(async (tx) => {
    await writeEvent(tx, tx.now, { type: "alert_raised", data: { n: 1 } }, {});
    hasBegun = true;
    await until("it may end", () => mayEnd);
  });
  await until("it has begun", () => hasBegun);
  const before = (await listEvents(session, { after: 0, limit: 100 })).length;
  await session.write((tx) => writeEvent(tx, tx.now, { type: "alert_raised", data: { n: 2 } }, {}));
  expect(await listEvents(session, { after: 0, limit: 100 })).toHaveLength(before);
  mayEnd = true;
  await slow;
  const told = await listEvents(session, { after: 0, types: ["alert_raised"], limit: 100 });
  expect(told.map(({ data }) => data?.n)).toEqual([1, 2]);
  await session.close();
  await engine.close();
});

it("a reader that follows many writers sees every event once, in order", async () => {
  const engine = await stores.open();
  const queues = ["q1", "q2", "q3"];
  for (const id of queues) await engine.createJob({ id, name: id, kind: "queue", spec: {} });
  const writers = await Promise.all(Array.from({ length: 5 }, () => stores.join(engine)));
  let isOver = false;
  const writing = Promise.all(
    writers.map(async (writer, no) => {
      for (let n = 0; n < 40; n += 1) {
        await writer.add(queues[n % 3] ?? "", [
          { itemId: `${no}-${n}-a`, data: 0 },
          { itemId: `${no}-${n}-b`, data: 0 },
        ]);
      }
    }),
  ).finally(() => {
    isOver = true;
  });
  const seen: number[] = [];
  const follow = async () => {
    const page = await engine.listEvents({ after: seen.at(-1) ?? 0, types: ["item_queued"], limit: 7 });
    seen.push(...page.map(({ id }) => id));
    return page.length;
  };
  while (!isOver) await follow();
  await writing;
  while ((await follow()) > 0);
  expect(seen).toHaveLength(5 * 40 * 2);
  expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
  for (const writer of writers) await writer.close();
  await engine.close();
});
