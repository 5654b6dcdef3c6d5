import type { WeightedStrike } from "./chaos.mjs";

/** Those that take no longer than a moment. */
export declare const STRIKES: readonly WeightedStrike[];
/** With those that outlast a lease. */
export declare const LONG_STRIKES: readonly WeightedStrike[];
