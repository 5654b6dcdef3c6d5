/**
 * The simulation: random steps from a seed, made on the engine under test and on the model; after each of them both
 * must look the same. At the end the faults are removed, and everything that was ever added must be accounted for.
 */
import { expect } from "vitest";
import type { OperationKind } from "../../src/item/operation.ts";
import { assert } from "../../src/std/assert.ts";
import type { EngineUnderTest } from "../conformance/suite.ts";
import { lost, succeeded } from "../support/settlements.ts";
import { ACTIONS } from "./actions.ts";
import { Chance } from "./chance.ts";
import { type Cursors, observe, observeSoundness } from "./observe.ts";
import { type Side, Twins } from "./twins.ts";
import { type Claim, claimsOf, newName, newWorld, QUEUES, type World } from "./world.ts";

export interface Simulation {
  readonly seed: number;
  /** The number of random steps. */
  readonly steps: number;
}

/** Throws with the seed, the step and the difference. */
export async function simulate(under: EngineUnderTest, { seed, steps }: Simulation): Promise<void> {
  const twins = await Twins.open(under);
  const world = newWorld(twins, new Chance(seed));
  let doing = "start";
  try {
    await createQueues(twins);
    let cursors: Cursors = { oracle: 0, subject: 0 };
    for (let step = 1; step <= steps; step += 1) {
      const [name, action] = world.chance.pick(ACTIONS);
      doing = `step ${step}, ${name}`;
      world.touched = [];
      await action(world);
      cursors = await observe(world, cursors);
      if (step % SOUNDNESS_STEPS === 0) await observeSoundness(twins);
    }
    doing = "the healing at the end";
    await heal(world);
    await observe(world, cursors);
    await observeSoundness(twins);
  } catch (error) {
    const again = `REDRIVE_SEED=${seed} npx vitest run test/simulation`;
    const what = error instanceof Error ? error.message : String(error);
    throw new Error(`Seed ${seed}, ${doing}: ${what}\nTo see it again: ${again}`, { cause: error });
  } finally {
    await twins.close();
  }
}

/** A complete check after this many steps. */
const SOUNDNESS_STEPS = 20;

async function createQueues(twins: Twins): Promise<void> {
  for (const id of QUEUES) {
    await twins.same((engine) => engine.createJob({ id, name: `name of ${id}`, kind: "map", spec: {} }));
  }
}

/**
 * Nothing was lost: once all leases are released and all letters are restored and redriven, every item that nobody
 * deleted can still succeed; then every operation can end, and its totals are right.
 */
async function heal(world: World): Promise<void> {
  for (const queue of QUEUES) {
    await giveUpLeases(world);
    await letAllThrough(world, queue);
    await workAll(world, queue, "restore");
    await workAll(world, queue, "redrive");
    await runAll(world, queue);
    await expectAllEnded(world, queue);
  }
  for (const { id } of world.operations) await endOperation(world, id);
}

/** The remaining discarded ones are bare rows; each of them was deleted. */
async function expectAllEnded({ twins }: World, queue: string): Promise<void> {
  const counts = await twins.same((engine) => engine.count(queue));
  assert(counts, `queue ${queue} can be counted`);
  const { total, done, skipped, discarded, letters, purged, evicted } = counts.subject;
  expect({ letters, ended: done + skipped + discarded }).toEqual({ letters: 0, ended: total });
  expect(discarded).toBeLessThanOrEqual(purged + evicted);
  const rest = await twins.same((engine) => engine.listLetters({ queue, states: ["discarded"], limit: 0 }));
  expect(rest?.subject.total).toBe(0);
}

async function endOperation({ twins }: World, id: string): Promise<void> {
  await twins.same((engine) => engine.changeOperation(id, { status: "open" }));
  await twins.same((engine) => engine.enlist(id, { letterSequences: [], cursor: null }));
  await twins.same((engine) => engine.changeOperation(id, { refuseRest: "the end" }));
  const ended = await twins.same((engine) => engine.closeOperation(id));
  assert(ended, `operation ${id} is there`);
  const { kind, selected, done, refused, succeeded: well, failed, endedAt } = ended.subject;
  expect(endedAt).toBeDefined();
  expect(selected).toBe(done + refused);
  expect(well + failed).toBe(kind === "redrive" ? done : 0);
}

async function letAllThrough({ twins }: World, queue: string): Promise<void> {
  const held = await twins.same((engine) => engine.listItems({ queue, states: ["held"], limit: 1000 }));
  const ids = (held?.oracle ?? []).map(({ itemId }) => itemId);
  await twins.same((engine) => engine.unhold(queue, ids, { author: "healer" }));
  await twins.same((engine) => engine.changeJob(queue, { pause: null }));
}

async function giveUpLeases({ twins }: World): Promise<void> {
  const holders = await twins.same((engine) => engine.listHolders());
  for (const { id } of holders?.oracle ?? []) {
    const leases = await twins.same((engine) => engine.listLeases(id));
    const claims = leases ? claimsOf(id, leases) : [];
    const settle = (side: "oracle" | "subject") => claims.map(({ lease }) => lost(lease[side]));
    await twins.same((engine, side) => engine.settleAndLease(null, { settle: settle(side) }));
  }
}

async function workAll(world: World, queue: string, kind: OperationKind): Promise<void> {
  const id = newName(world, "operation");
  const asked = { id, kind, queue, filter: {}, force: true, author: "healer", plan: {} };
  await world.twins.same((engine) => engine.beginOperation(asked));
  await world.twins.same((engine) => engine.advance(id, { max: 1000 }));
  world.operations = [...world.operations, { id, kind, queue }];
}

async function runAll(world: World, queue: string): Promise<void> {
  const { twins } = world;
  const holder = newName(world, "holder");
  const machine = { host: "host-1", pid: 1, processStart: "1", ttlMs: 1000 };
  await twins.same((engine) => engine.registerHolder({ id: holder, queue, ...machine }));
  twins.clock.advance(3_600_000);
  const lease = { queue, max: 1000 };
  let claims: readonly Claim[] = [];
  do {
    const settle = (side: Side) => claims.map((claim) => succeeded(claim.lease[side]));
    const answer = await twins.same((engine, side) =>
      engine.settleAndLease(holder, { settle: settle(side), lease }),
    );
    claims = answer ? claimsOf(holder, { oracle: answer.oracle.leased, subject: answer.subject.leased }) : [];
  } while (claims.length > 0); // of each ordering key one at a time
}
