import type { Blow } from "./torture.mjs";

/** The blows that take no longer than a moment. */
export declare const BLOWS: readonly Blow[];
