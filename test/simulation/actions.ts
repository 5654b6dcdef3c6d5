/** The steps of the simulation. Each is one or a few store calls, made on both engines. */
import { randomEnding, randomLoss } from "./endings.ts";
import { GROUP_ACTIONS } from "./group-actions.ts";
import { OPERATION_ACTIONS } from "./operation-actions.ts";
import { QUEUE_ACTIONS, randomDemands, withRemarks } from "./queue-actions.ts";
import { type Action, type Claim, claimsOf, letGo, newName, QUEUES, type World } from "./world.ts";

/** Every action by name, with its frequency. */
export const ACTIONS: readonly (readonly [name: string, action: Action])[] = [
  ...often(2, "register a holder", registerHolder),
  ...often(14, "settleAndLease", settleAndLease),
  ...often(1, "heartbeat", heartbeat),
  ...often(2, "reap", reap),
  ...QUEUE_ACTIONS.flatMap(([times, name, action]) => often(times, name, action)),
  ...GROUP_ACTIONS.flatMap(([times, name, action]) => often(times, name, action)),
  ...OPERATION_ACTIONS.flatMap(([times, name, action]) => often(times, name, action)),
  ...often(1, "change job", changeJob),
  ...often(2, "catch up", catchUp),
  ...often(3, "time passes", timePasses),
  ...often(1, "clock goes back", clockGoesBack),
  ...often(1, "crash", crash),
];

function often(times: number, name: string, action: Action): readonly (readonly [string, Action])[] {
  return Array.from({ length: times }, () => [name, action] as const);
}

/** Does now what a store may do later; no result depends on it. */
async function catchUp({ twins }: World): Promise<void> {
  await twins.same((engine) => engine.catchUp({ forMs: 10_000 }));
}

const RUNNERS_MAX = 3;

async function registerHolder(world: World): Promise<void> {
  const { twins, chance } = world;
  const runner = { holder: newName(world, "holder"), queue: chance.pick(QUEUES) };
  const ttlMs = chance.pick([1000, 10_000]);
  const machine = { host: "host-1", pid: 1 + chance.below(1000), processStart: "1" };
  await twins.same((engine) =>
    engine.registerHolder({ id: runner.holder, queue: runner.queue, ttlMs, ...machine }),
  );
  world.runners = [...world.runners, runner].slice(-RUNNERS_MAX);
}

/** Settles some leases of the runner, sometimes old ones too, and leases again. */
async function settleAndLease(world: World): Promise<void> {
  const { twins, chance } = world;
  if (world.runners.length === 0) return registerHolder(world);
  const { holder, queue } = chance.pick(world.runners);
  const ending = chance.some(world.claims.filter((claim) => claim.holder === holder));
  const late = chance.happens(0.2) ? chance.some(world.pastClaims).slice(0, 2) : [];
  const ends = [...ending, ...late].map((claim) => ({
    claim,
    end: withRemarks(chance, randomEnding(chance)),
  }));
  const { rate, gate } = await randomDemands(world, queue);
  const ofOperation = chance.happens(0.2) && world.operations.findLast((one) => one.queue === queue);
  const lease = {
    queue,
    max: chance.pick([0, 3, 6, 12]),
    ...(ofOperation && { operationId: ofOperation.id }),
    ...(rate && { rate }),
  };
  const answer = await twins.same((engine, side) =>
    engine.settleAndLease(holder, {
      settle: ends.map(({ claim, end }) => end(claim.lease[side])),
      lease,
      ...(gate && { gate }),
    }),
  );
  letGo(world, answer ? ending : world.claims.filter((claim) => claim.holder === holder));
  if (!answer) return;
  const leased = { oracle: answer.oracle.leased, subject: answer.subject.leased };
  const claims = claimsOf(holder, leased);
  world.claims = [...world.claims, ...claims];
  world.touched = [...ending, ...late, ...claims];
}

async function heartbeat({ twins, chance, runners }: World): Promise<void> {
  if (runners.length === 0) return;
  const { holder } = chance.pick(runners);
  await twins.same((engine) => engine.heartbeat(holder));
}

/** Settles the leases of an expired holder, and removes the holder unless the reaper dies in between. */
async function reap(world: World): Promise<void> {
  const { twins, chance } = world;
  const holders = await twins.same((engine) => engine.listHolders());
  const dead = holders?.oracle.find(({ expired }) => expired);
  if (!dead) return;
  await twins.same((engine) => engine.revoke(dead.id, { isProcessDead: false }));
  const leases = await twins.same((engine) => engine.listLeases(dead.id));
  const claims: readonly Claim[] = leases ? claimsOf(dead.id, leases) : [];
  const ends = claims.map((claim) => ({ claim, end: randomLoss(chance) }));
  await twins.same((engine, side) =>
    engine.settleAndLease(null, { settle: ends.map(({ claim, end }) => end(claim.lease[side])) }),
  );
  world.touched = claims;
  if (chance.happens(0.2)) return crash(world);
  await twins.same((engine) => engine.unregisterHolder(dead.id));
}

async function changeJob({ twins, chance }: World): Promise<void> {
  const queue = chance.pick(QUEUES);
  const change = chance.pick([
    { intakeComplete: true },
    { status: "interrupted", event: { type: "job_interrupted" } },
    { status: "running", restarted: true, event: { type: "job_resumed", data: { by: "simulation" } } },
  ] as const);
  await twins.same((engine) => engine.changeJob(queue, change));
}

async function timePasses({ twins, chance }: World): Promise<void> {
  twins.clock.advance(chance.pick([1, 50, 800, 4000]) * (1 + chance.below(3)));
}

/** The machine's clock is corrected. */
async function clockGoesBack({ twins, chance }: World): Promise<void> {
  twins.clock.advance(-chance.below(60));
}

/** Runners and operators forget their state. Their late calls may still arrive. */
async function crash(world: World): Promise<void> {
  letGo(world, world.claims);
  await world.twins.crash();
}
