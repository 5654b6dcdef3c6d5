/**
 * The steps of those who manage queues: items of every kind, holds, pauses, shared documents, and the requests of
 * workers.
 */
import type { SettleAndLease } from "../../src/engine.ts";
import type { NewItem } from "../../src/item/item.ts";
import { PRIORITIES } from "../../src/item/item.ts";
import type { Chance } from "./chance.ts";
import type { Ending } from "./endings.ts";
import { type Action, QUEUES, type World } from "./world.ts";

/** The frequency of each. */
export const QUEUE_ACTIONS: readonly (readonly [times: number, name: string, action: Action])[] = [
  [4, "add", add],
  [2, "hold", hold],
  [3, "unhold", unhold],
  [1, "pause", pause],
  [3, "resume", resume],
  [2, "write a document", writeDocument],
  [1, "tell of trouble", tellOfTrouble],
];

/** Ids, data and ordering keys are few, so that the same ones occur again, sometimes changed. */
async function add({ twins, chance }: World): Promise<void> {
  const queue = chance.pick(QUEUES);
  const now = twins.clock.now();
  const items = Array.from({ length: 1 + chance.below(12) }, () => randomItem(chance, now));
  const replace = chance.happens(0.4) ? { replace: { author: "bo" } } : {};
  await twins.same((engine) => engine.add(queue, items, replace));
}

function randomItem(chance: Chance, now: number): NewItem {
  return {
    itemId: `item-${chance.below(100)}`,
    data: { version: chance.happens(0.9) ? 1 : 2 },
    ...(chance.happens(0.3) && { name: `name ${chance.below(3)}` }),
    ...(chance.happens(0.4) && { priority: chance.pick(PRIORITIES) }),
    ...(chance.happens(0.2) && { dueAt: now + chance.pick([-5000, 100, 4000]) }),
    ...(chance.happens(0.2) && { expiresAt: now + chance.pick([0, 3000]) }),
    ...(chance.happens(0.4) && { orderingKey: `key-${chance.below(4)}` }),
  };
}

/** Some exist and some do not; sometimes the same one twice. */
function randomIds(chance: Chance): readonly string[] {
  return Array.from({ length: 1 + chance.below(6) }, () => `item-${chance.below(110)}`);
}

async function hold({ twins, chance }: World): Promise<void> {
  const [queue, ids] = [chance.pick(QUEUES), randomIds(chance)];
  const reason = chance.happens(0.5) ? { reason: "wait for the bank" } : {};
  await twins.same((engine) => engine.hold(queue, ids, { author: "ada", ...reason }));
}

/** Mostly held ones. */
async function unhold({ twins, chance }: World): Promise<void> {
  const queue = chance.pick(QUEUES);
  const held = await twins.same((engine) => engine.listItems({ queue, states: ["held"], limit: 100 }));
  const ids = [...chance.some(held?.oracle ?? []).map(({ itemId }) => itemId), ...randomIds(chance)];
  await twins.same((engine) => engine.unhold(queue, ids, { author: "ada" }));
}

async function pause({ twins, chance }: World): Promise<void> {
  const queue = chance.pick(QUEUES);
  const event = chance.happens(0.3) ? { event: { type: "job_changed" } as const } : {};
  const why = { author: "ada", reason: chance.pick(["the bank is closed", "end of the day"]) };
  await twins.same((engine) => engine.changeJob(queue, { pause: why, ...event }));
}

async function resume({ twins, chance }: World): Promise<void> {
  const queue = chance.pick(QUEUES);
  await twins.same((engine) => engine.changeJob(queue, { pause: null }));
}

async function writeDocument({ twins, chance }: World): Promise<void> {
  const name = chance.pick(["watch/one", "copy/two"]);
  const found = await twins.same((engine) => engine.readDocument(name));
  const seen = (found?.oracle?.version ?? 0) + chance.pick([0, 0, 0, 1, -1]);
  const body = chance.pick([null, "ü", { count: chance.below(9) }, [1, { two: 2 }]]);
  if (seen >= 0) await twins.same((engine) => engine.writeDocument(name, { seen, body }));
}

/** Like a runner that could not write for a while. */
async function tellOfTrouble({ twins, chance }: World): Promise<void> {
  const queue = chance.pick(QUEUES);
  const event = { type: "store_write_failed", data: { message: "the disk was full" } } as const;
  await twins.same((engine) => engine.changeJob(queue, { event }));
}

/** The requests of a queue's worker besides items: a rate, and a gate, which it may have seen long ago. */
export async function randomDemands(
  { twins, chance }: World,
  queue: string,
): Promise<{
  readonly rate?: { readonly perSecond: number };
  readonly gate?: NonNullable<SettleAndLease["gate"]>;
}> {
  const rate = chance.happens(0.2) ? { rate: { perSecond: chance.pick([0.3, 3, 7, 100]) } } : {};
  if (chance.happens(0.7)) return rate;
  const found = await twins.same((engine) => engine.readDocument(`gate/${queue}`));
  const seen = Math.max(0, (found?.oracle?.version ?? 0) - (chance.happens(0.8) ? 0 : 1));
  const next = chance.happens(0.5)
    ? { next: { breaker: { state: "open" }, parkedUntil: chance.below(99) } }
    : {};
  const event = chance.pick([{}, { event: { type: "breaker_opened", data: { after: 3 } } as const }]);
  return { ...rate, gate: { queue, seen, ...next, ...event } };
}

/** The reports of a worker besides the outcome. */
export function withRemarks(chance: Chance, end: Ending): Ending {
  const notes = [
    { author: "robot", text: "began" },
    { author: "robot", text: `saw ${chance.below(5)} pages` },
  ];
  const isTold = chance.happens(0.2);
  const counts = chance.pick([[], ["pages"], ["pages", "pages", "clicks"]]);
  const fault = chance.happens(0.5) ? "the shell is gone" : undefined;
  return (lease) => {
    const settlement = end(lease);
    return {
      ...settlement,
      ...(isTold && { notes }),
      ...(counts.length > 0 && { counts }),
      ...(settlement.outcome === "released" && fault !== undefined && { fault }),
    };
  };
}
