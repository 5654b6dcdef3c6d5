/** Breaks copies of a valid SQLite store in one way each. `break` gets a run's home and returns environment changes. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";

/** Faults by name. Each changes the home, which has the store `redrive.db`, without a WAL unless the fault creates one. */
export const STORES = {
  sound: () => undefined,
  missing: (home) => rmSync(join(home, "redrive.db")),
  "missing home": (home) => rmSync(home, { recursive: true }),
  "home is a file": (home) => {
    rmSync(home, { recursive: true });
    writeFileSync(home, "x");
  },
  "home below a file": (home) => {
    rmSync(home, { recursive: true });
    writeFileSync(home, "x");
    return { REDRIVE_HOME: join(home, "below") };
  },
  empty: (home) => writeFileSync(storeOf(home), ""),
  "random bytes": (home, chance) =>
    writeFileSync(storeOf(home), Buffer.from(Array.from({ length: 20_000 }, () => chance.between(0, 255)))),
  truncated: (home, chance) => truncateSync(storeOf(home), chance.between(1, sizeOf(home) - 1)),
  "page overwritten": (home, chance) =>
    overwrite(home, chance.between(1, sizeOf(home) / 4096 - 1) * 4096, 4096, chance),
  "first page overwritten": (home, chance) => overwrite(home, chance.between(16, 4000), 90, chance),
  "bytes flipped": (home, chance) => {
    for (let count = 0; count < 30; count++)
      overwrite(home, chance.between(100, sizeOf(home) - 9), chance.between(1, 8), chance);
  },
  "a directory": (home) => {
    rmSync(storeOf(home));
    mkdirSync(storeOf(home));
  },
  "a full device": (home) => {
    rmSync(storeOf(home));
    symlinkSync("/dev/full", storeOf(home));
  },
  "a loop of links": (home) => {
    rmSync(storeOf(home));
    symlinkSync(storeOf(home), storeOf(home));
  },
  newer: (home) => change(home, "PRAGMA user_version = 99999"),
  older: (home) => change(home, "PRAGMA user_version = 1"),
  foreign: (home) => {
    rmSync(storeOf(home));
    change(home, "CREATE TABLE people(name TEXT); INSERT INTO people VALUES ('x')");
  },
  "a table dropped": (home, chance) => {
    const tables = tablesOf(home);
    tryChange(
      home,
      `PRAGMA foreign_keys = OFF; DROP TABLE "${tables[chance.between(0, tables.length - 1)]}"`,
    );
  },
  "values overwritten": (home, chance) => changeValues(home, chance),
  "garbage WAL": (home, chance) =>
    writeFileSync(
      `${storeOf(home)}-wal`,
      Buffer.from(Array.from({ length: 9_000 }, () => chance.between(0, 255))),
    ),
  "truncated WAL": (home, chance) => {
    makeWal(home);
    const wal = `${storeOf(home)}-wal`;
    truncateSync(wal, chance.between(1, readFileSync(wal).length - 1));
  },
  "WAL without shm": (home) => {
    makeWal(home);
    rmSync(`${storeOf(home)}-shm`, { force: true });
  },
  "WAL is a directory": (home) => {
    rmSync(`${storeOf(home)}-wal`, { force: true });
    mkdirSync(`${storeOf(home)}-wal`);
  },
  "logs are a file": (home) => {
    rmSync(join(home, "logs"), { recursive: true, force: true });
    writeFileSync(join(home, "logs"), "");
    rmSync(join(home, "dlq"), { recursive: true, force: true });
    writeFileSync(join(home, "dlq"), "");
  },
};

function storeOf(home) {
  return join(home, "redrive.db");
}

function sizeOf(home) {
  return readFileSync(storeOf(home)).length;
}

function overwrite(home, at, length, chance) {
  const bytes = readFileSync(storeOf(home));
  for (let offset = 0; offset < length; offset++) bytes[at + offset] = chance.between(0, 255);
  writeFileSync(storeOf(home), bytes);
}

function change(home, sql) {
  const database = new DatabaseSync(storeOf(home));
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}

/** Ignores errors for tables that SQLite itself protects. */
function tryChange(home, sql) {
  try {
    change(home, sql);
  } catch {
    // The store stays valid.
  }
}

function tablesOf(home) {
  const database = new DatabaseSync(storeOf(home));
  try {
    const rows = database
      .prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' AND name NOT GLOB '*_*_*' AND name NOT LIKE 'sqlite_%'",
      )
      .all();
    return rows.map(({ name }) => name);
  } finally {
    database.close();
  }
}

const STRANGE = [
  "''",
  "'x'",
  "-1",
  "NULL",
  "x'00ff'",
  "1e300",
  "'{'",
  "'[]'",
  "'null'",
  "9223372036854775807",
];

/** Sets one column of one table to a value that no version of the program writes. */
function changeValues(home, chance) {
  const tables = tablesOf(home);
  const table = tables[chance.between(0, tables.length - 1)];
  const database = new DatabaseSync(storeOf(home));
  try {
    database.exec("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF");
    const columns = database.prepare(`PRAGMA table_info("${table}")`).all();
    const { name } = columns[chance.between(0, columns.length - 1)];
    const value = STRANGE[chance.between(0, STRANGE.length - 1)];
    database.exec(`UPDATE OR IGNORE "${table}" SET "${name}" = ${value}`);
  } catch {
    // A constraint that cannot be turned off: the store stays valid.
  } finally {
    database.close();
  }
}

/** Leaves a WAL file, like a killed process. */
function makeWal(home) {
  const database = new DatabaseSync(storeOf(home));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
  const version = database.prepare("PRAGMA user_version").get();
  database.exec(
    `PRAGMA user_version = ${Object.values(version)[0]}; CREATE TABLE fuzz_wal(a); DROP TABLE fuzz_wal`,
  );
  const copies = ["-wal", "-shm", ""].map((end) => [`${storeOf(home)}${end}`, `${home}/kept${end}`]);
  for (const [from, to] of copies) if (existsSync(from)) cpSync(from, to);
  database.close();
  for (const [from, to] of copies) {
    rmSync(from, { force: true });
    if (existsSync(to)) cpSync(to, from);
    rmSync(to, { force: true });
  }
}
