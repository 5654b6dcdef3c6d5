/** From version 7 to 8: the agents that ran as steps. */
import { agentRunsTable } from "../../sql/shared-migrations.ts";

export const VERSION_8 = agentRunsTable({ text: "TEXT", int: "INTEGER", smallInt: "INTEGER", end: "STRICT" });
