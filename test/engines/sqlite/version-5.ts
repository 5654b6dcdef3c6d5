/** A store as version 5 wrote it: that of version 2, migrated, with ordering keys and an indexed message. */
import { DatabaseSync } from "@photostructure/sqlite";
import { MIGRATIONS } from "../../../src/engines/sqlite/schema.ts";
import { writeVersion2 } from "./version-2.ts";

/** `ready` and `fresh` share an ordering key. The message of `dead` is indexed, with the parameter 7. */
export function writeVersion5(path: string): void {
  writeVersion2(path);
  const db = new DatabaseSync(path);
  db.enableDefensive(false);
  db.exec(`BEGIN; ${MIGRATIONS.slice(2, 5).join("\n")}
    UPDATE items SET lane = 'one', waits = ref <> 4 WHERE ref IN (4, 7);
    UPDATE items SET losses = 1 WHERE ref = 4;
    UPDATE attempts SET failure = json_set(failure, '$.error_message', 'it failed 7 times') WHERE ref = 2;
    INSERT INTO wordings (no, grp, hash, text, is_open, count)
    VALUES (1, 1, 'xT6ekmvRUrnmCsh3GNl0N4', 'it failed ' || char(1) || ' times', 0, 1);
    INSERT INTO wording_texts (rowid, text) VALUES (1, 'it failed ' || char(1) || ' times');
    INSERT INTO said (no, wording, figures) VALUES (2, 1, char(1) || '7' || char(1));
    INSERT INTO said_figures (rowid, figures) VALUES (2, char(1) || '7' || char(1));
    UPDATE read_to SET no = 2;
    PRAGMA user_version = 5;
    COMMIT`);
  db.close();
}
