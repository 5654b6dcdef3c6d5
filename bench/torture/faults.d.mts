import type { Fault } from "./torture.mjs";

/** Faults that last only a moment. */
export declare const FAULTS: readonly Fault[];
