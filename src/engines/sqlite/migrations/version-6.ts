/** From version 5 to 6: renames columns, the tables of the text index, and the indexes and triggers that use them. */
import { COLUMNS_RENAMED } from "../../sql/shared-migrations.ts";
import { restate } from "./checks.ts";

/** Indexes and triggers have no ALTER statement in SQLite. Only their names change. */
const renamed = (names: readonly (readonly [from: string, to: string])[]) =>
  names
    .map(
      ([from, to]) =>
        `UPDATE sqlite_schema SET name = '${to}', sql = replace(sql, '${from}', '${to}') WHERE name = '${from}';`,
    )
    .join("\n  ");

export const VERSION_6 = `
  ${COLUMNS_RENAMED}
  ALTER TABLE letters_by_age        RENAME COLUMN stratum TO number_range;
  ALTER TABLE letters_by_age_of_all RENAME COLUMN stratum TO number_range;

  ALTER TABLE wordings RENAME TO message_templates;
  ALTER TABLE said     RENAME TO indexed_messages;
  ALTER TABLE indexed_messages RENAME COLUMN wording TO template;
  ALTER TABLE indexed_messages RENAME COLUMN figures TO parameters;
  ALTER TABLE read_to  RENAME TO indexed_to;
  ALTER TABLE unread   RENAME TO unindexed_letters;
  ALTER TABLE wording_texts RENAME TO template_texts;
  ALTER TABLE said_figures  RENAME TO parameter_texts;

  PRAGMA writable_schema = ON;
  ${renamed([
    ["items_in_lane", "items_by_ordering_key"],
    ["wordings_empty", "message_templates_empty"],
    ["wordings_open", "message_templates_open"],
    ["said_by_wording", "indexed_messages_by_template"],
    ["said_no_more", "indexed_messages_removed"],
    ["strata_added", "letters_by_age_added"],
    ["strata_changed", "letters_by_age_changed"],
    ["strata_removed", "letters_by_age_removed"],
  ])}
  PRAGMA writable_schema = RESET;
  ${restate([["parameter_texts", "figures, content", "parameters, content"]])}
`;
