/** Reads everything that is visible from outside from both engines, and expects equal results. */
import { expect } from "vitest";
import type { Counter, LetterFilter, LetterOrder } from "../../src/engine.ts";
import { GROUP_STATES } from "../../src/item/group.ts";
import type { Letter } from "../../src/item/letter.ts";
import { randomArrivalQuery, randomFilter, randomOrder, randomStatesFilter, randomText } from "./filters.ts";
import type { Simulated } from "./model/open.ts";
import { type Both, pairsOf, type Side, type Twins } from "./twins.ts";
import { QUEUES, type World } from "./world.ts";

/** The last event that was read from each engine. */
export type Cursors = Both<number>;

/** One comparison after a step. Returns the last event that was read. */
export async function observe(world: World, cursors: Cursors): Promise<Cursors> {
  const { twins, chance, touched } = world;
  const [filter, order] = [randomStatesFilter(chance), randomOrder(chance)];
  const arrivals = randomArrivalQuery(chance, twins.clock.now());
  for (const queue of QUEUES) {
    await twins.same((engine) => engine.count(queue));
    await twins.same((engine) => engine.findJob(queue));
    await twins.same((engine) => engine.readDocument(`gate/${queue}`));
    await twins.same((engine) => engine.listGroups({ queue }));
    await observeItems(world, queue);
  }
  await twins.same((engine) => allPages(engine, filter, order));
  await twins.same((engine) => engine.listLetters({ ...filter, limit: 0 }));
  await observeTexts(world);
  await twins.same((engine) => engine.listArrivals(arrivals));
  await observeGroups(world);
  await observeErrors(world);
  await twins.same(async (engine) => [...(await engine.listCounters())].sort(byName));
  await twins.same((engine) => engine.listHolders());
  await twins.same((engine) => engine.listOperations({}));
  await observeSelections(world);
  for (const { lease } of touched) {
    await twins.same((engine, side) => engine.listAttempts(lease[side].ref));
    await twins.same((engine, side) => engine.readLetter(lease[side].ref));
  }
  return readEvents(twins, cursors);
}

/** By words of the last message, alone or with another condition. */
async function observeTexts({ twins, chance }: World): Promise<void> {
  const filter = { ...(chance.happens(0.3) && randomFilter(chance)), text: randomText(chance) };
  const order = chance.pick(["newest", "oldest"] as const);
  await twins.same((engine) => allPages(engine, filter, order));
}

/** Every record, some of them as they are requested, and the corrections. */
async function observeGroups({ twins, chance }: World): Promise<void> {
  const states = chance.pick([["open"], ["resolved", "ignored"], GROUP_STATES, []] as const);
  const prefix = chance.pick(["", "1", "corrected", "Unknown::"]);
  await twins.same((engine) => engine.listGroups({}));
  await twins.same((engine) => engine.listGroups({ states }));
  await twins.same((engine) => engine.listGroupRecords({}));
  await twins.same((engine) => engine.listGroupRecords({ states, prefix }));
  await twins.same((engine) => engine.listCorrections());
}

/** All items of a queue, and all data of one of them. */
async function observeItems({ twins, chance }: World, queue: string): Promise<void> {
  const items = pairsOf(await twins.same((engine) => engine.findItems("", { queue, limit: 1000 })));
  if (items.length === 0) return;
  const item = chance.pick(items);
  const states = chance.pick([
    {},
    { states: ["held"] },
    { states: ["ready", "leased"] },
    { states: [] },
  ] as const);
  await twins.same((engine, side) => engine.listItems({ queue, ...states, after: item[side].ref, limit: 5 }));
  await twins.same((engine, side) => engine.listNotes(item[side].ref));
  await twins.same((engine, side) => engine.listAttempts(item[side].ref));
  await twins.same((engine, side) => engine.listAmendments(item[side].ref));
  await twins.same((engine, side) => engine.readLetter(item[side].ref));
}

/** The newest of them, of all or of some. */
async function observeErrors({ twins, chance }: World): Promise<void> {
  const origin = chance.pick([{}, { origin: "work" }, { origin: "runner" }] as const);
  const some = {
    ...(chance.happens(0.4) && { queue: chance.pick(QUEUES) }),
    ...(chance.happens(0.2) && { itemId: `item-${chance.below(100)}` }),
    ...(chance.happens(0.2) && { since: twins.clock.now() - 2000 }),
  };
  const newest = pairsOf(await twins.same((engine) => engine.listErrors({ ...origin, ...some, limit: 5 })));
  const last = newest.at(-1);
  if (!last) return;
  await twins.same((engine, side) =>
    engine.listErrors({ ...origin, ...some, before: last[side].id, limit: 3 }),
  );
}

function byName(a: Counter, b: Counter): number {
  return a.queue.localeCompare(b.queue) || a.name.localeCompare(b.name);
}

/** The selections of the latest operations, with their outcomes. */
async function observeSelections({ twins, chance, operations }: World): Promise<void> {
  for (const { id } of operations.slice(-3)) {
    const status = chance.pick([
      {},
      { status: "done" },
      { status: "refused" },
      { status: "pending" },
    ] as const);
    await twins.same((engine) => engine.listSelected(id, { ...status, limit: 100 }));
    await twins.same((engine) => engine.listRefusals(id));
  }
}

/** Both stores must be sound, whatever happened to them. */
export async function observeSoundness(twins: Twins): Promise<void> {
  const problems = await twins.same((engine) => engine.check());
  expect(problems).toEqual({ oracle: [], subject: [] });
}

async function readEvents(twins: Twins, cursors: Cursors): Promise<Cursors> {
  const events = await twins.same((engine, side) => engine.listEvents({ after: cursors[side], limit: 1000 }));
  const end = (side: Side) => events?.[side].at(-1)?.id ?? cursors[side];
  return { oracle: end("oracle"), subject: end("subject") };
}

/** Every matching letter, read page by page. */
async function allPages(
  engine: Simulated,
  filter: LetterFilter,
  order: LetterOrder,
): Promise<{ letters: Letter[]; totals: number[] }> {
  const letters: Letter[] = [];
  const totals: number[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await engine.listLetters({
      ...filter,
      order,
      limit: 3,
      ...(cursor !== undefined && { cursor }),
    });
    letters.push(...page.letters);
    totals.push(page.total);
    cursor = page.next;
  }
  return { letters, totals };
}
