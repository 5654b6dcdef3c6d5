import { expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import {
  beginSelected,
  completeSelection,
  onlyOpenOperation,
  requireOperation,
} from "../../src/redrive/operation.ts";
import { planOf, planText, planToJson } from "../../src/redrive/plan.ts";
import { many, QUEUE, RedriveKit } from "./redrive-kit.ts";

const request = { kind: "redrive", queue: QUEUE, author: "ann" } as const;

it("with an expression, only letters for which it is true are selected", async () => {
  const kit = new RedriveKit();
  await kit.bury(many("a", 12, {}));
  const selection = { filter: {}, where: 'item.endsWith("1")' };
  const operation = await beginSelected(kit.engine, { ...request, selection });
  expect(operation).toMatchObject({ status: "open", selected: 2, plan: { where: selection.where } });
  const selected = await kit.engine.listSelected(operation.id, { limit: 10 });
  expect(selected.map(({ itemId }) => itemId)).toEqual(["a1", "a11"]);
});

it("after a kill during the selection, another process completes it with the letters from its beginning", async () => {
  const kit = new RedriveKit();
  await kit.bury(many("a", 900, {}));
  const killed = killedAfter(kit.engine, 1);
  const selection = { filter: {}, where: "item != 'a7'" };
  await expect(beginSelected(killed, { ...request, selection })).rejects.toThrow("killed");
  const [left] = await kit.engine.listOperations({ open: true });
  expect(left).toMatchObject({ status: "selecting", selected: 499 });
  await kit.bury(many("late", 3, {}));
  const complete = left && (await completeSelection(kit.engine, left));
  expect(complete).toMatchObject({ status: "open", selected: 899 });
});

it("an invalid expression begins nothing; one without an answer leaves nothing open", async () => {
  const kit = new RedriveKit();
  await kit.bury({ a: {} });
  const begin = (where: string) =>
    beginSelected(kit.engine, { ...request, selection: { filter: {}, where } });
  await expect(begin("item ==")).rejects.toMatchObject({ code: "filter_invalid" });
  expect(await kit.engine.listOperations({})).toEqual([]);
  await expect(begin("item.size > 3")).rejects.toMatchObject({ code: "filter_invalid" });
  expect(await kit.engine.listOperations({ open: true })).toEqual([]);
});

it("the complete plan is stored with the operation", async () => {
  const kit = new RedriveKit();
  await kit.bury({ a: {} });
  const rate = { letters: 5, perMs: 1000 };
  const plan = { rate, delayMs: 2000, maxRetries: 0, slots: 3, canary: true };
  const operation = await kit.begin(plan, { force: true });
  expect(planOf((await kit.engine.findOperation(operation.id)) ?? operation)).toEqual(plan);
  expect(planText(operation)).toBe(
    "one of each group first, then 1 %, 10 %, all; at most 5/s; starts after 2.0 s; 3 at a time; no retries; including letters that are not eligible",
  );
  expect(planToJson({})).toEqual({});
});

it("an operation is found by its id, a prefix of it, and without the op- in front", async () => {
  const kit = new RedriveKit();
  await kit.bury({ a: {} });
  await kit.engine.beginOperation({ ...OPERATION, id: "op-abc1" });
  await kit.engine.beginOperation({ ...OPERATION, id: "op-abd2" });
  for (const name of ["op-abc1", "op-abc", "abc"])
    expect((await requireOperation(kit.engine, name)).id).toBe("op-abc1");
  await expect(requireOperation(kit.engine, "ab")).rejects.toMatchObject({
    code: "ambiguous",
    message: expect.stringContaining("op-abc1 (redrive of job-1), op-abd2 (redrive of job-1)"),
  });
  await expect(requireOperation(kit.engine, "zz")).rejects.toMatchObject({ code: "operation_not_found" });
  await expect(onlyOpenOperation(kit.engine)).rejects.toMatchObject({ code: "ambiguous" });
  await kit.engine.changeOperation("op-abc1", { status: "cancelled" });
  expect((await onlyOpenOperation(kit.engine)).id).toBe("op-abd2");
});

const OPERATION = { ...request, filter: {}, force: false, plan: {} };

/** A store whose process is killed when so many steps of the search were written. */
function killedAfter(engine: Engine, steps: number): Engine {
  let written = 0;
  return {
    ...engine,
    enlist: async (...given) => {
      if (written === steps) throw new Error("killed");
      written += 1;
      return engine.enlist(...given);
    },
  };
}
