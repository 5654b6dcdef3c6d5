/** From version 4 to 5: renames tables and columns. */
import { TABLES_RENAMED } from "../../sql/shared-migrations.ts";

export const VERSION_5 = `
  ${TABLES_RENAMED}
  ALTER TABLE strata        RENAME TO letters_by_age;
  ALTER TABLE strata_of_all RENAME TO letters_by_age_of_all;
  ALTER TABLE tries         RENAME TO letters_by_attempts;
`;
