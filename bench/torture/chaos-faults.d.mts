import type { WeightedFault } from "./chaos.mjs";

/** Faults that last only a moment. */
export declare const CHAOS_FAULTS: readonly WeightedFault[];
/** All faults, including those that outlast a lease. */
export declare const LONG_CHAOS_FAULTS: readonly WeightedFault[];
/** Kills the primary of a pair and promotes its standby. */
export declare const failOver: WeightedFault[1];
