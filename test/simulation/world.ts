/** The state of the simulated runners, reapers and operators. A crash makes them forget; the stores must not. */
import type { LeasedItem } from "../../src/item/item.ts";
import type { Letter } from "../../src/item/letter.ts";
import type { OperationKind } from "../../src/item/operation.ts";
import type { Chance } from "./chance.ts";
import { type Both, pairsOf, type Twins } from "./twins.ts";

export const QUEUES = ["queue-1", "queue-2"] as const;

export interface Runner {
  readonly holder: string;
  readonly queue: string;
}

/** A lease that a runner believes to hold, or once held. */
export interface Claim {
  readonly holder: string;
  readonly lease: Both<LeasedItem>;
}

/** One or a few store calls, made on both engines. */
export type Action = (world: World) => Promise<void>;

export interface World {
  readonly twins: Twins;
  readonly chance: Chance;
  runners: readonly Runner[];
  claims: readonly Claim[];
  /** Old leases, which late workers still settle. */
  pastClaims: readonly Claim[];
  operations: readonly { readonly id: string; readonly kind: OperationKind; readonly queue: string }[];
  /** Letters that were exported earlier. */
  archive: readonly Letter[];
  /** The items that the latest step changed. */
  touched: readonly Claim[];
  /** Creates names that were never used before. */
  serial: number;
}

export function newWorld(twins: Twins, chance: Chance): World {
  return {
    twins,
    chance,
    runners: [],
    claims: [],
    pastClaims: [],
    operations: [],
    archive: [],
    touched: [],
    serial: 0,
  };
}

/** A new name. */
export function newName(world: World, kind: string): string {
  world.serial += 1;
  return `${kind}-${world.serial}`;
}

const PAST_CLAIMS_MAX = 12;

/** These have ended, as far as the runner knows. */
export function letGo(world: World, claims: readonly Claim[]): void {
  world.claims = world.claims.filter((claim) => !claims.includes(claim));
  world.pastClaims = [...world.pastClaims, ...claims].slice(-PAST_CLAIMS_MAX);
}

/** Pairs the leases of both engines, which must be equal, in the same order. */
export function claimsOf(holder: string, leased: Both<readonly LeasedItem[]>): readonly Claim[] {
  return pairsOf(leased).map((lease) => ({ holder, lease }));
}
