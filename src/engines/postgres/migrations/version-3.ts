/** Migrates from version 2 to 3: renames tables and columns. */
import { TABLES_RENAMED } from "../../sql/shared-migrations.ts";

export const VERSION_3 = `
  ${TABLES_RENAMED}
  ALTER TABLE line    RENAME TO ready_items;
  ALTER TABLE burials RENAME TO letter_numbers;
`;
