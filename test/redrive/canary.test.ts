import { expect, it } from "vitest";
import { nextStage, returnedOf, stageOf, stopReason } from "../../src/redrive/canary.ts";
import { ALGORITHM } from "../../src/triage/signature.ts";
import { buried, deathRecordOf } from "../support/settlements.ts";
import { many, QUEUE, RedriveKit } from "./redrive-kit.ts";

const A = { signature: "00000000000000aa" };
const B = { signature: "00000000000000bb" };

it.each([
  [1000, 3, 13, 113, 1000],
  [50, 2, 3, 8, 50],
  [2, 1, 2, 2, 2],
])("of %i letters, after %i, the stages end at %i, %i and %i", (selected, sent, second, third, last) => {
  const books = { selected, plan: {} } as Parameters<typeof nextStage>[1];
  const two = nextStage({ stage: 1, goal: sent }, { ...books, done: sent });
  const three = nextStage(two, { ...books, done: second });
  const four = nextStage(three, { ...books, done: third });
  expect([two, three, four]).toEqual([
    { stage: 2, goal: second },
    { stage: 3, goal: third },
    { stage: 4, goal: last },
  ]);
});

it("after a given number of letters, the rest follows in one stage", () => {
  const operation = { selected: 50, done: 5, plan: { canary: 5 } } as unknown as Parameters<
    typeof nextStage
  >[1];
  expect(nextStage({ stage: 1, goal: 5 }, operation)).toEqual({ stage: 4, goal: 50 });
});

it("sends one of each group, then 1 %, then 10 %, then all, and waits for each stage to end", async () => {
  const kit = new RedriveKit();
  await kit.bury({ ...many("a", 60, A), ...many("b", 40, B) });
  const operation = await kit.begin({ canary: true });
  const stages = await workInStages(kit, operation);
  expect(stages.map((ids) => ids.length)).toEqual([2, 1, 10, 87]);
  expect(stages[0]).toEqual(["a1", "b1"]);
  expect(kit.notices).toEqual([
    "Canary: stage 1, one of each group (2).",
    "Canary: stage 1, one of each group finished; starting stage 2, 1 %.",
    "Canary: stage 2, 1 % finished; starting stage 3, 10 %.",
    "Canary: stage 3, 10 % finished; starting stage 4, all the rest.",
  ]);
  expect(await kit.engine.closeOperation(operation.id)).toMatchObject({ status: "ended", succeeded: 100 });
});

it("stops when a letter fails again with the same failure; the rest stays dead, and the letter is named", async () => {
  const kit = new RedriveKit();
  await kit.bury({ ...many("a", 20, A), ...many("b", 20, B) });
  const begun = await kit.begin({ canary: true });
  const stages = await workInStages(kit, begun, (id) => id === "b1");
  expect(stages).toEqual([["a1", "b1"]]);
  const operation = await kit.engine.closeOperation(begun.id);
  const books = { selected: 40, done: 2, succeeded: 1, failed: 1, returned: 1, refused: 38 };
  expect(operation).toMatchObject({ status: "ended", ...books });
  const returned = { itemId: "b1", signature: B.signature };
  const { pattern } = deathRecordOf();
  expect(returnedOf(operation)).toEqual({ ...returned, pattern });
  expect(await kit.engine.listRefusals(begun.id)).toEqual([{ reason: stopReason(returned), count: 38 }]);
  expect(await kit.engine.count(QUEUE)).toMatchObject({ dead: 39, done: 1, ready: 0 });
});

it("continues when a letter fails in another way than before", async () => {
  const kit = new RedriveKit();
  await kit.bury({ a1: A, a2: A, a3: A });
  const begun = await kit.begin({ canary: true });
  await kit.bury({ b1: B }); // what died meanwhile is none of its business
  const sending = kit.send(begun);
  await untilSent(sending, 1);
  const [item] = await kit.lease();
  if (item) await kit.engine.settleAndLease("worker", { settle: [buried(item, B)] });
  kit.wake.notify();
  await untilSent(sending, 1);
  expect(stageOf((await kit.engine.findOperation(begun.id)) ?? begun).stage).toBe(2);
});

it("stops at the same failure even if an older algorithm named its group", async () => {
  const kit = new RedriveKit();
  const old = { ...A, algorithm: "redrive-0" };
  await kit.bury({ a1: old, a2: old, a3: old });
  const begun = await kit.begin({ canary: true });
  const sending = kit.send(begun);
  await untilSent(sending, 1);
  const [item] = await kit.lease();
  if (item)
    await kit.engine.settleAndLease("worker", { settle: [buried(item, { ...B, algorithm: ALGORITHM })] });
  kit.wake.notify();
  for await (const sent of sending) expect(sent).toBe(0);
  const operation = await kit.engine.closeOperation(begun.id);
  expect(operation).toMatchObject({ status: "ended", failed: 1, returned: 0, refused: 2 });
  expect(returnedOf(operation)).toMatchObject({ itemId: "a1", signature: B.signature });
});

it("skips letters that would be refused when it chooses the first of a group", async () => {
  const kit = new RedriveKit();
  const unfit = { ...A, reprocessEligible: false };
  await kit.bury({ ...many("x", 5, unfit), a1: A, ...many("y", 3, { ...B, reprocessEligible: false }) });
  const begun = await kit.begin({ canary: true });
  const stages = await workInStages(kit, begun);
  expect(stages).toEqual([["a1"]]);
  expect(await kit.engine.closeOperation(begun.id)).toMatchObject({ succeeded: 1, refused: 8, selected: 9 });
});

it("after a kill in any stage, another process continues in that stage", async () => {
  const kit = new RedriveKit();
  await kit.bury({ ...many("a", 30, A), ...many("b", 30, B) });
  const begun = await kit.begin({ canary: true });
  const worked: string[][] = [];
  for (;;) {
    const current = (await kit.engine.findOperation(begun.id)) ?? begun;
    const step = await kit.send(current).next(); // a new sender for each step, as if the last was killed
    const ids = await kit.work();
    if (ids.length > 0) worked.push([...ids]);
    if (step.done) break;
  }
  expect(worked.map((ids) => ids.length)).toEqual([2, 1, 6, 51]);
  expect(new Set(worked.flat()).size).toBe(60);
});

/** Sends until it waits, works what is due, and so on; what was worked in each stage. */
async function workInStages(
  kit: RedriveKit,
  operation: Parameters<RedriveKit["send"]>[0],
  fails: (itemId: string) => boolean = () => false,
): Promise<string[][]> {
  const stages: string[][] = [];
  for await (const _ of kit.send(operation)) {
    const ids = await kit.work(fails);
    if (ids.length > 0) stages.push([...ids]);
  }
  const rest = await kit.work(fails);
  return rest.length > 0 ? [...stages, [...rest]] : stages;
}

async function untilSent(sending: AsyncGenerator<number>, count: number): Promise<void> {
  for (let sent = 0; sent < count; ) {
    const step = await sending.next();
    if (step.done) throw new Error("it ended before");
    sent += step.value;
  }
}
