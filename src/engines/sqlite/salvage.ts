/** Salvages a damaged SQLite store: copies the readable rows into a new file and makes them consistent. */
import { renameSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Problem } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import type { DamageReport, SalvageReport, TableDamage } from "../../item/store-queries.ts";
import { TABLES, type Table } from "../../item/tables.ts";
import { assert } from "../../std/assert.ts";
import { systemClock } from "../../std/clock.ts";
import { makeFolder } from "../../std/files.ts";
import { numberBurials } from "./bury.ts";
import { columnsOf, DamagedFile } from "./damaged-file.ts";
import { openSqliteEngine } from "./open.ts";
import { repair } from "./salvage-repairs.ts";
import { MIGRATIONS } from "./schema.ts";
import { Session } from "./session.ts";
import { storeError } from "./store-error.ts";

/** Lists the damage in a file without changing it. Returns null if the file is not a SQLite database. */
export function findDamage(path: string): DamageReport | null {
  return withDamaged(path, (file) => {
    if (file.version() === undefined) return null;
    const problems = file.integrityProblems().map((detail) => ({ rule: "integrity", detail }));
    const tables = file.survey();
    if (problems.length === 0 || tables.some(({ rows }) => rows > 0)) return { problems, tables };
    const detail = "The list of tables cannot be read. Nothing can be saved.";
    return { problems: [{ rule: "integrity", detail }, ...problems], tables: [] };
  });
}

/** Salvages a store into a new file. Writes to a temporary file and renames it when it is complete. */
export async function salvageSqlite(from: string, to: string): Promise<SalvageReport> {
  if (exists(to)) {
    throw new RedriveError("copy_refused", `The file ${to} already exists.`, {
      hint: "Choose a new file for the salvaged store.",
    });
  }
  const partial = `${to}.partial`;
  removeStore(partial);
  try {
    const report = await withDamaged(from, async (file) => {
      requireReadable(file, from);
      makeFolder(dirname(resolve(to)));
      return copyInto(partial, file);
    });
    if (report.tables.every(({ rows }) => rows === 0)) throw nothingToSave(from);
    renameSync(partial, to);
    removeStore(partial); // removes the temporary file and its empty journal
    return { ...report, problems: await checkSaved(to) };
  } catch (error) {
    removeStore(partial);
    throw error;
  }
}

/** Checks the new file after it was opened in the usual way. */
async function checkSaved(path: string): Promise<readonly Problem[]> {
  const engine = await openSqliteEngine({ path, mustExist: true });
  try {
    return await engine.check();
  } finally {
    await engine.close();
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function removeStore(path: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
}

function withDamaged<T>(path: string, action: (file: DamagedFile) => T): T {
  const close = (file: DamagedFile) => file.close();
  let file: DamagedFile;
  try {
    file = new DamagedFile(path);
  } catch (error) {
    throw storeError(error, path);
  }
  let result: T;
  try {
    result = action(file);
  } catch (error) {
    close(file);
    throw error;
  }
  if (result instanceof Promise) return result.finally(() => close(file)) as T;
  close(file);
  return result;
}

function requireReadable(file: DamagedFile, path: string): void {
  const version = file.version();
  if (version === MIGRATIONS.length) return;
  if (version === undefined) throw nothingToSave(path);
  const known = `The store ${path} has schema version ${version}, but this version of Redrive salvages stores of version ${MIGRATIONS.length}`;
  throw new RedriveError(version > MIGRATIONS.length ? "store_newer" : "copy_refused", `${known}.`, {
    hint: "Run `store salvage` with the version of Redrive that wrote the store.",
  });
}

function nothingToSave(path: string): RedriveError {
  return new RedriveError(
    "store_corrupt",
    `Nothing can be saved from ${path}: its list of tables cannot be read.`,
    {
      hint: "Restore the file from a backup.",
    },
  );
}

async function copyInto(path: string, file: DamagedFile): Promise<Omit<SalvageReport, "problems">> {
  await (await openSqliteEngine({ path })).close();
  const session = new Session({ path, clock: systemClock, busyMsMax: 10_000, readOnly: false });
  try {
    session.exec("PRAGMA foreign_keys = OFF");
    const tables: TableDamage[] = [];
    for (const table of TABLES) tables.push(await session.write(() => copyTable(session, file, table)));
    const report = await session.write(() => {
      const expected = expectedItems(session, tables);
      const repairs = repair(session);
      const saved = session.get<{ n: number }>("SELECT count(*) AS n FROM items")?.n ?? 0;
      const lostItems = expected === undefined ? undefined : Math.max(0, expected - saved);
      return { tables, lostItems, repairs };
    });
    emptyJournal(session);
    return report;
  } finally {
    session.close();
  }
}

/** Empties the journal, because the file is renamed without it. */
function emptyJournal(session: Session): void {
  const [answer] = session.all<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)");
  assert(answer?.busy === 0, "nobody else has the new file open");
}

function copyTable(session: Session, file: DamagedFile, table: Table): TableDamage {
  if (table.name === "sequences")
    return file.readTable(table, (row) => numberBurials(session, Number(row[0])));
  const columns = columnsOf(table).map((column) =>
    column === "no" && ["late_results", "notes", "group_notes"].includes(table.name) ? "rowid" : column,
  );
  const sql = `INSERT OR IGNORE INTO ${table.name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
  let refused = 0;
  const damage = file.readTable(table, (row) => {
    if (session.run(sql, ...row).changes === 0) refused += 1;
  });
  return { ...damage, rows: damage.rows - refused, gaps: damage.gaps + refused };
}

/** Returns the number of items according to the queue counters; undefined if queues were lost. */
function expectedItems(session: Session, tables: readonly TableDamage[]): number | undefined {
  if (tables.some(({ table, gaps }) => table === "queues" && gaps > 0)) return undefined;
  return session.get<{ n: number }>(
    "SELECT coalesce(sum(ready + leased + held + done + dead + skipped + discarded), 0) AS n FROM queues",
  )?.n;
}
