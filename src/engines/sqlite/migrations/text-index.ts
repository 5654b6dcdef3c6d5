/**
 * The text index: tables that find texts in the messages of letters that wait. A burial writes nothing into them: messages
 * are indexed later, in batches (`text-index.ts`). Triggers remove letters immediately. A burial fires no trigger, because
 * its number is higher than that of any indexed letter.
 */

const READ_TO = "(SELECT no FROM read_to)";

export const TEXT_INDEX = `
  -- Message templates of a group, in lower case, with blanks in place of figures; see wording.ts.
  CREATE TABLE wordings (
    no      INTEGER PRIMARY KEY,
    grp     INTEGER NOT NULL,
    hash    TEXT NOT NULL,
    text    TEXT NOT NULL,
    is_open INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    count   INTEGER NOT NULL DEFAULT 0 CHECK (count >= 0),
    UNIQUE (grp, hash)
  ) STRICT;
  CREATE INDEX wordings_empty ON wordings (no) WHERE count = 0;
  CREATE INDEX wordings_open ON wordings (no) WHERE is_open = 1;

  -- The last message of each letter that waits: its template and figures, by letter number.
  CREATE TABLE said (
    no      INTEGER PRIMARY KEY,
    wording INTEGER NOT NULL REFERENCES wordings (no),
    figures TEXT NOT NULL
  ) STRICT;
  CREATE INDEX said_by_wording ON said (wording, no);

  -- Letters up to this number are indexed, except those in the table unread.
  CREATE TABLE read_to (no INTEGER NOT NULL) STRICT;
  INSERT INTO read_to (no) VALUES (0);
  CREATE TABLE unread (no INTEGER PRIMARY KEY) STRICT;

  -- All text was converted to lower case by Node; SQLite would convert it differently.
  CREATE VIRTUAL TABLE wording_texts USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
  );
  CREATE VIRTUAL TABLE said_figures USING fts5 (
    figures, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
  );

  CREATE TRIGGER said_no_more AFTER DELETE ON said BEGIN
    UPDATE wordings SET count = count - 1 WHERE no = OLD.wording;
    DELETE FROM said_figures WHERE rowid = OLD.no AND OLD.figures <> '';
  END;
  CREATE TRIGGER letters_left AFTER DELETE ON letters WHEN OLD.no <= ${READ_TO} BEGIN
    DELETE FROM said WHERE no = OLD.no;
    DELETE FROM unread WHERE no = OLD.no;
    UPDATE read_to SET no = 0 WHERE NOT EXISTS (SELECT 1 FROM said) AND NOT EXISTS (SELECT 1 FROM unread);
  END;
  CREATE TRIGGER letters_regrouped AFTER UPDATE OF grp ON letters WHEN NEW.no <= ${READ_TO} BEGIN
    DELETE FROM said WHERE no = NEW.no;
    INSERT OR IGNORE INTO unread (no) VALUES (NEW.no);
  END;
`;
