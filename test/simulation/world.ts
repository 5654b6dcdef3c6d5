/** What the simulated runners, reapers and operators know. A crash makes them forget; the stores must not. */
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

/** A lease that a runner believes to hold, or once did. */
export interface Claim {
  readonly holder: string;
  readonly lease: Both<LeasedItem>;
}

/** One or a few store calls, done to both engines. */
export type Action = (world: World) => Promise<void>;

export interface World {
  readonly twins: Twins;
  readonly chance: Chance;
  runners: readonly Runner[];
  claims: readonly Claim[];
  /** Claims of the past: what late workers still talk of. */
  pastClaims: readonly Claim[];
  operations: readonly { readonly id: string; readonly kind: OperationKind; readonly queue: string }[];
  /** Letters that somebody exported once. */
  archive: readonly Letter[];
  /** The items that the latest step touched. */
  touched: readonly Claim[];
  /** Makes names that were never used before. */
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

/** A name that the world has not heard before. */
export function newName(world: World, kind: string): string {
  world.serial += 1;
  return `${kind}-${world.serial}`;
}

const PAST_CLAIMS_MAX = 12;

/** These are over, as far as the runner knows. */
export function letGo(world: World, claims: readonly Claim[]): void {
  world.claims = world.claims.filter((claim) => !claims.includes(claim));
  world.pastClaims = [...world.pastClaims, ...claims].slice(-PAST_CLAIMS_MAX);
}

/** Pairs what the two sides leased; they leased the same, in the same order. */
export function claimsOf(holder: string, leased: Both<readonly LeasedItem[]>): readonly Claim[] {
  return pairsOf(leased).map((lease) => ({ holder, lease }));
}
