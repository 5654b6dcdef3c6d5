/** Migrates from version 3 to 4: renames columns and tables. */
import { COLUMNS_RENAMED } from "../../sql/shared-migrations.ts";

export const VERSION_4 = `
  ${COLUMNS_RENAMED}
  ALTER TABLE lanes      RENAME TO ordered_items;
  ALTER TABLE lane_heads RENAME TO ordering_heads;
  ALTER TABLE ordered_items  RENAME COLUMN lane TO ordering_key;
  ALTER TABLE ordering_heads RENAME COLUMN lane TO ordering_key;
  ALTER INDEX lanes_leased   RENAME TO ordered_items_leased;
`;
