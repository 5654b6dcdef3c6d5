import type { TortureOptions, TortureReport } from "./torture.mjs";

/** Tortures the runners of one workflow in its own repository, lets the last one finish, and checks the result. */
export declare function tortureWorkflow(options: Omit<TortureOptions, "faults">): Promise<TortureReport>;
