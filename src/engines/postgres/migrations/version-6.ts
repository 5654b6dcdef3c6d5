/** Migrates from version 5 to 6: the agents that ran as steps. */
import { agentRunsTable } from "../../sql/shared-migrations.ts";

export const VERSION_6 = agentRunsTable({
  text: "text",
  int: "bigint",
  smallInt: "integer",
  end: "WITH (fillfactor = 50)",
});
