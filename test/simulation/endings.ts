/** The ways an attempt of the simulation can end, chosen once and then said to both sides. */
import type { Grave, Lease, Settlement } from "../../src/item/item.ts";
import {
  buried,
  buriedAsLost,
  lost,
  parked,
  released,
  retried,
  skipped,
  succeeded,
} from "../support/settlements.ts";
import type { Chance } from "./chance.ts";

export type Ending = (lease: Lease) => Settlement;

/** What a runner may say. */
export function randomEnding(chance: Chance): Ending {
  const delayMs = chance.pick([0, 0, 100, 3000]);
  const grave = randomGrave(chance);
  return chance.pick<Ending>([
    succeeded,
    succeeded,
    (lease) => retried(lease, delayMs),
    (lease) => retried(lease, delayMs),
    (lease) => parked(lease, delayMs),
    released,
    skipped,
    (lease) => buried(lease, grave),
    (lease) => buried(lease, grave),
    (lease) => buried(lease, grave),
    (lease) => buried(lease, grave),
    (lease) => ({ ...buried(lease, grave), verdict: { kind: "stop", reason: "too many failures" } }),
  ]);
}

/** What a reaper may say. */
export function randomLoss(chance: Chance): Ending {
  return chance.happens(0.7) ? (lease) => lost(lease) : buriedAsLost;
}

/** The causes of death of the simulated world. One signature is always one type and class. */
const CAUSES = [
  {
    signature: "1111111111111111",
    pattern: "Timeout::after <num> s",
    errorType: "Timeout",
    errorClass: "transient",
  },
  {
    signature: "2222222222222222",
    pattern: "ClientError::<num>",
    errorType: "ClientError",
    errorClass: "permanent",
  },
  { signature: "3333333333333333", pattern: "Unknown::boom", errorType: "Unknown", errorClass: "unknown" },
] as const satisfies readonly Partial<Grave>[];

function randomGrave(chance: Chance): Partial<Grave> {
  return { ...chance.pick(CAUSES), reprocessEligible: chance.happens(0.8) };
}
