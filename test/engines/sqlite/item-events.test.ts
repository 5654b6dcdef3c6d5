/** The events of one item are found among those of thousands that a step told of at once. */
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { eventsAt } from "../../../src/dead-letter/history.ts";
import { openSqliteEngine } from "../../../src/engines/sqlite/open.ts";
import { newHolder, newItem, QUEUE } from "../../conformance/workbench.ts";
import { buried, retried } from "../../support/settlements.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";
import { TestClock } from "../../support/test-clock.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

it("are the same as among all events, by time, by type and from any event on", async () => {
  const clock = new TestClock();
  const engine = await openSqliteEngine({ path: join(directory.path, "events.db"), clock });
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await engine.registerHolder(newHolder("holder-1"));
  await engine.add(
    QUEUE,
    Array.from({ length: 300 }, (_, n) => newItem(`n-${n}`)),
  );
  for (const end of [retried, buried]) {
    clock.advance(1000);
    const { leased } = await engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 300 },
    });
    clock.advance(1000);
    await engine.settleAndLease(null, { settle: leased.map((one) => end(one)) });
  }
  const all = await engine.listEvents({ queue: QUEUE, after: 0, limit: 10_000 });
  const times = [...new Set(all.map(({ at }) => at))];
  for (const itemId of ["n-0", "n-137", "n-299"]) {
    const own = all.filter((event) => event.itemId === itemId);
    expect(own.length).toBeGreaterThan(5);
    const ask = { queue: QUEUE, itemId, limit: 100 };
    expect(await engine.listEvents({ ...ask, after: 0 })).toEqual(own);
    expect(await engine.listEvents({ ...ask, after: 0, limit: 2 })).toEqual(own.slice(0, 2));
    for (const at of times) {
      const then = own.filter((event) => event.at === at);
      expect(await engine.listEvents({ ...ask, after: 0, since: at, until: at })).toEqual(then);
      expect(await eventsAt(engine, { queue: QUEUE, itemId }, [at])).toEqual(then);
    }
    for (const { id, type } of own) {
      expect(await engine.listEvents({ ...ask, after: id })).toEqual(own.filter((event) => event.id > id));
      const ofType = own.filter((event) => event.type === type);
      expect(await engine.listEvents({ ...ask, after: 0, types: [type] })).toEqual(ofType);
    }
    const scanning = { ...engine, can: { ...engine.can, findItemEvents: false } };
    expect(await eventsAt(engine, { queue: QUEUE, itemId }, times)).toEqual(own);
    expect(await eventsAt(scanning, { queue: QUEUE, itemId }, times)).toEqual(own);
  }
  expect(await engine.listEvents({ queue: QUEUE, itemId: "nobody", after: 0, limit: 9 })).toEqual([]);
  await engine.close();
});
