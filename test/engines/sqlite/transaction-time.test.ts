/** Everything that one transaction writes has one time, even if the clock ticks while it runs. */
import { expect, it } from "vitest";
import { eventsAt } from "../../../src/dead-letter/history.ts";
import { openMemoryEngine } from "../../../src/engines/sqlite/open.ts";
import { systemClock } from "../../../src/std/clock.ts";
import { newHolder, newItem, QUEUE } from "../../conformance/workbench.ts";
import { buried } from "../../support/settlements.ts";
import { TestClock } from "../../support/test-clock.ts";

it("the discard of a letter that is requeued has the time of its event", async () => {
  const clock = new TestClock();
  const ticking = () => {
    clock.advance(1);
    return clock.now();
  };
  const engine = openMemoryEngine({ clock: { ...systemClock, ...clock, now: ticking } });
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await engine.registerHolder(newHolder("holder-1"));
  await engine.add(QUEUE, [newItem("a")]);
  const lease = { queue: QUEUE, max: 1 };
  const { leased } = await engine.settleAndLease("holder-1", { settle: [], lease });
  await engine.settleAndLease(null, { settle: leased.map((one) => buried(one)) });
  const operation = {
    id: "op",
    kind: "requeue",
    queue: QUEUE,
    author: "ana",
    filter: {},
    force: true,
    plan: {},
  } as const;
  await engine.beginOperation(operation);
  await engine.advance("op", { max: 10 });
  const ref = leased[0]?.ref ?? 0;
  const at = (await engine.readLetter(ref))?.resolution?.at ?? 0;
  const types = (await eventsAt(engine, { queue: QUEUE, itemId: "a" }, [at])).map(({ type }) => type);
  expect(types).toContain("dlq_item_removed");
  await engine.close();
});
