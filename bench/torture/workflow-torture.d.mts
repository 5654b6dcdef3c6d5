import type { TortureOptions, TortureReport } from "./torture.mjs";

/** Tortures the runners of one workflow in a repository of its own, lets the last one finish, and judges what is there. */
export declare function tortureWorkflow(options: Omit<TortureOptions, "faults">): Promise<TortureReport>;
