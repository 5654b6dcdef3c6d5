/** Looks at everything that can be seen from outside, on both sides, and expects to see the same. */
import { expect } from "vitest";
import type { Engine, LetterFilter } from "../../src/engine.ts";
import type { Letter } from "../../src/item/letter.ts";
import { randomFilter } from "./actions.ts";
import type { Both, Side, Twins } from "./twins.ts";
import { QUEUES, type World } from "./world.ts";

/** How far the events of each side were read. */
export type Cursors = Both<number>;

/** One look after a step. Answers how far the events were read. */
export async function observe(world: World, cursors: Cursors): Promise<Cursors> {
  const { twins, chance, touched } = world;
  const filter = randomFilter(chance);
  for (const queue of QUEUES) {
    await twins.same((engine) => engine.count(queue));
    await twins.same((engine) => engine.findItems("", { queue, limit: 100 }));
    await twins.same((engine) => engine.listGroups({ queue }));
  }
  await twins.same((engine) => allPages(engine, filter));
  await twins.same((engine) => engine.listGroups({}));
  await twins.same((engine) => engine.listHolders());
  await twins.same((engine) => engine.listOperations({}));
  for (const { lease } of touched) {
    await twins.same((engine, side) => engine.listAttempts(lease[side].ref));
    await twins.same((engine, side) => engine.readLetter(lease[side].ref));
  }
  return readEvents(twins, cursors);
}

/** Both stores must be sound, whatever has happened to them. */
export async function observeSoundness(twins: Twins): Promise<void> {
  const problems = await twins.same((engine) => engine.check());
  expect(problems).toEqual({ oracle: [], subject: [] });
}

async function readEvents(twins: Twins, cursors: Cursors): Promise<Cursors> {
  const events = await twins.same((engine, side) => engine.listEvents({ after: cursors[side], limit: 1000 }));
  const end = (side: Side) => events?.[side].at(-1)?.id ?? cursors[side];
  return { oracle: end("oracle"), subject: end("subject") };
}

/** Every letter that fits, read page by page. */
async function allPages(
  engine: Engine,
  filter: LetterFilter,
): Promise<{ letters: Letter[]; totals: number[] }> {
  const letters: Letter[] = [];
  const totals: number[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await engine.listLetters({ ...filter, limit: 3, ...(cursor !== undefined && { cursor }) });
    letters.push(...page.letters);
    totals.push(page.total);
    cursor = page.next;
  }
  return { letters, totals };
}
