/** The outcomes of attempts in the simulation, chosen once and then given to both engines. */
import type { DeathRecord, Lease, Settlement } from "../../src/item/item.ts";
import {
  buried,
  buriedAsLost,
  failureOf,
  lost,
  parked,
  released,
  retried,
  skipped,
  succeeded,
} from "../support/settlements.ts";
import type { Chance } from "./chance.ts";

export type Ending = (lease: Lease) => Settlement;

/** The settlements of a runner. */
export function randomEnding(chance: Chance): Ending {
  const delayMs = chance.pick([0, 0, 100, 3000]);
  const cause = chance.pick(CAUSES);
  const bury: Ending = buriedFor(cause, chance.happens(0.8), chance.happens(0.1));
  return chance.pick<Ending>([
    succeeded,
    succeeded,
    (lease) => retried(lease, delayMs),
    (lease) => ({ ...retried(lease, delayMs), failure: failureOf(lease, { errorMessage: cause.message }) }),
    (lease) => parked(lease, delayMs),
    released,
    skipped,
    bury,
    bury,
    bury,
    bury,
    bury,
    bury,
    (lease) => ({ ...bury(lease), verdict: { kind: "stop", reason: "too many failures" } }),
  ]);
}

/** The settlements of a reaper. */
export function randomLoss(chance: Chance): Ending {
  return chance.happens(0.7) ? (lease) => lost(lease) : buriedAsLost;
}

/** The causes of death in the simulation. One signature always has one type and class. */
const CAUSES = [
  {
    message: "no answer after 30 s",
    death: {
      signature: "1111111111111111",
      pattern: "Timeout::no answer after <num> s",
      errorType: "Timeout",
      errorClass: "transient",
    },
  },
  {
    message: `ungültige Größe in "C:\\temp\\%1_a"`,
    death: {
      signature: "2222222222222222",
      pattern: "ClientError::<path>",
      errorType: "ClientError",
      errorClass: "permanent",
    },
  },
  {
    message: "Boom!\nIt's BROKEN",
    death: {
      signature: "3333333333333333",
      pattern: "Unknown::boom",
      errorType: "Unknown",
      errorClass: "unknown",
    },
  },
] as const satisfies readonly { readonly message: string; readonly death: Partial<DeathRecord> }[];

function buriedFor(cause: (typeof CAUSES)[number], isEligible: boolean, isPoison: boolean): Ending {
  const death = { ...cause.death, reprocessEligible: isEligible, ...(isPoison && { poison: true }) };
  return (lease) => ({
    ...buried(lease, death),
    failure: failureOf(lease, { errorMessage: cause.message, errorType: { name: death.errorType } }),
  });
}
