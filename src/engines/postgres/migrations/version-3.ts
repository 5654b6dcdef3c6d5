/** From version 2 to 3: tables get plain names. PostgreSQL follows them in views and indexes. */
export const VERSION_3 = `
  ALTER TABLE closed   RENAME TO resolved_letters;
  ALTER TABLE evidence RENAME TO late_results;
  ALTER TABLE marks    RENAME TO group_records;
  ALTER TABLE line     RENAME TO ready_items;
  ALTER TABLE burials  RENAME TO letter_numbers;
`;
