/** From version 4 to 5: renames tables and columns. SQLite updates the triggers and references that use them. */
export const VERSION_5 = `
  ALTER TABLE closed        RENAME TO resolved_letters;
  ALTER TABLE evidence      RENAME TO late_results;
  ALTER TABLE marks         RENAME TO group_records;
  ALTER TABLE strata        RENAME TO letters_by_age;
  ALTER TABLE strata_of_all RENAME TO letters_by_age_of_all;
  ALTER TABLE tries         RENAME TO letters_by_attempts;
  ALTER TABLE letters          RENAME COLUMN toxic TO poison;
  ALTER TABLE resolved_letters RENAME COLUMN toxic TO poison;
`;
