import type { Fault } from "./torture.mjs";

/** The faults that take no longer than a moment. */
export declare const FAULTS: readonly Fault[];
