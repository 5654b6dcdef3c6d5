/** The peer of the store: plain tables and hand-written SQL on the same SQLite, with the same durability. */
import { DatabaseSync } from "@photostructure/sqlite";

export function openRaw(path) {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384");
  return db;
}

/** Inserts one row (number and text) per text, with one transaction per batch. */
export function insertRows(db, texts, batch) {
  db.exec("CREATE TABLE IF NOT EXISTS rows (no INTEGER PRIMARY KEY, data TEXT NOT NULL) STRICT");
  const insert = db.prepare("INSERT INTO rows (data) VALUES (?)");
  for (let from = 0; from < texts.length; from += batch) {
    db.exec("BEGIN IMMEDIATE");
    for (const text of texts.slice(from, from + batch)) insert.run(text);
    db.exec("COMMIT");
  }
}

/** A lookup and a page query, as a hand-written program would do them. */
export function rawReader(db) {
  const one = db.prepare("SELECT data FROM rows WHERE no = ?");
  const page = db.prepare("SELECT no, data FROM rows WHERE no < ? ORDER BY no DESC LIMIT 50");
  return {
    lookUp: (no) => JSON.parse(one.get(no).data),
    page: (before) => page.all(before).map((row) => JSON.parse(row.data)),
  };
}

/** A minimal queue: items with a state, leased and settled in batches, no history, no events. */
export function makeHandLoop(db, texts) {
  db.exec(`
    CREATE TABLE work (no INTEGER PRIMARY KEY, state TEXT NOT NULL, due INTEGER NOT NULL, data TEXT NOT NULL) STRICT;
    CREATE INDEX work_ready ON work (due, no) WHERE state = 'ready';
  `);
  const insert = db.prepare("INSERT INTO work (state, due, data) VALUES ('ready', 0, ?)");
  db.exec("BEGIN IMMEDIATE");
  for (const text of texts) insert.run(text);
  db.exec("COMMIT");
  const take = db.prepare(
    "SELECT no, data FROM work WHERE state = 'ready' AND due <= ? ORDER BY due, no LIMIT ?",
  );
  const mark = db.prepare("UPDATE work SET state = ? WHERE no = ?");
  return (done, max) => {
    db.exec("BEGIN IMMEDIATE");
    for (const row of done) mark.run("done", row.no);
    const rows = take.all(Date.now(), max);
    for (const row of rows) mark.run("leased", row.no);
    db.exec("COMMIT");
    return rows.map((row) => ({ no: row.no, data: JSON.parse(row.data) }));
  };
}
