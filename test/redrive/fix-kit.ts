/** A queue with letters for tests of what is done to them, on the engine that needs nothing. */
import { onTestFinished } from "vitest";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import type { DeathRecord } from "../../src/item/item.ts";
import type { Operation } from "../../src/item/operation.ts";
import type { FixRule } from "../../src/redrive/fix.ts";
import type { Json } from "../../src/std/json.ts";
import { QUEUE, Workbench } from "../conformance/workbench.ts";
import { buried, succeeded } from "../support/settlements.ts";
import { TestClock } from "../support/test-clock.ts";

/** A bench whose holder has entered; the store is sound at the end of the test. */
export async function openBench(): Promise<Workbench> {
  const clock = new TestClock();
  const bench = new Workbench(openMemoryEngine({ clock }), clock);
  await bench.job(QUEUE);
  await bench.registerHolder();
  onTestFinished(async () => {
    const problems = await bench.engine.check();
    if (problems.length > 0) throw new Error(JSON.stringify(problems));
  });
  return bench;
}

/** Buries items with this data, each at its first attempt. */
export async function buryData(
  { engine }: Workbench,
  data: Readonly<Record<string, Json>>,
  death: Partial<DeathRecord> = {},
): Promise<void> {
  for (const [itemId, value] of Object.entries(data)) {
    await engine.add(QUEUE, [{ itemId, data: value }]);
    const { leased } = await engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 1 },
    });
    await engine.settleAndLease(null, { settle: leased.map((lease) => buried(lease, death)) });
  }
}

/** Sends all letters of a redrive and settles each: the named ones die again, the others succeed. */
export async function workOff(
  { engine }: Workbench,
  redrive: Operation | undefined,
  dying: readonly string[] = [],
): Promise<Operation> {
  const id = redrive?.id ?? "";
  await engine.advance(id, { max: 1000 });
  const { leased } = await engine.settleAndLease("holder-1", {
    settle: [],
    lease: { queue: QUEUE, max: 1000, operationId: id },
  });
  await engine.settleAndLease(null, {
    settle: leased.map((lease) => (dying.includes(lease.itemId) ? buried(lease) : succeeded(lease))),
  });
  return engine.closeOperation(id);
}

/** A rule that is for every letter of the bench. */
export function ruleOf(change: FixRule["change"], more: Partial<FixRule> = {}): FixRule {
  return {
    name: "repair",
    match: { filter: { types: ["CommandFailed"] } },
    change,
    usesMax: 1,
    auto: false,
    ...more,
  };
}
