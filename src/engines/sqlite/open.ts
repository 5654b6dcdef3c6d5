/** Opens a SQLite store: creates or migrates the file, and returns the engine for it. */
import { closeSync, existsSync, openSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Engine } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import { makeFolder, makePrivate } from "../../std/files.ts";
import type { OpenOptions } from "../open.ts";
import { createStoreFile } from "./create-file.ts";
import { engineOf } from "./engine.ts";
import { MIGRATIONS } from "./schema.ts";
import { IN_MEMORY, Session } from "./session.ts";
import { followClock } from "./store-clock.ts";

/** The statements that create a store with the current schema at once. The build derives them from the migrations. */
declare const REDRIVE_NEW_STORE: string;

/** By default a write waits 10 s for another process before it fails with `store_busy`. */
export interface SqliteOptions extends Omit<OpenOptions, "connectionsMax"> {
  readonly path: string;
}

export async function openSqliteEngine(options: SqliteOptions): Promise<Engine> {
  return engineOf(await openSession(options));
}

export interface MemoryOptions {
  readonly clock?: Clock;
  /** The URL that the store reports. Default `memory:`. */
  readonly url?: string;
}

/** Opens a new, empty store in memory. Closing it deletes it, and no other engine can share it. */
export function openMemoryEngine({ clock = systemClock, url = "memory:" }: MemoryOptions = {}): Engine {
  const session = new Session({ path: url, clock, busyMsMax: 0, readOnly: false, url: IN_MEMORY });
  session.exec("PRAGMA foreign_keys = ON");
  session.exec("BEGIN");
  migrate(session);
  session.exec("COMMIT");
  session.prepared(MIGRATIONS.length, () => followClock(session));
  return engineOf(session);
}

async function openSession({
  path,
  clock = systemClock,
  busyMsMax = 10_000,
  mustExist = false,
  onWait,
}: SqliteOptions): Promise<Session> {
  const isNew = !existsSync(path);
  try {
    if (mustExist) requireFile(path);
    await requireNotEmpty(path);
    makeFolder(dirname(resolve(path)));
    if (!existsSync(path)) createStoreFile(resolve(path));
    const session = new Session({ path, clock, busyMsMax, readOnly: false, ...(onWait && { onWait }) });
    for (const file of [path, `${path}-wal`, `${path}-shm`]) makePrivate(file); // SQLite gives new journal files the permissions of the store
    await prepareOrClose(session, busyMsMax);
    return session;
  } catch (error) {
    if (isNew && isEmptyFile(path)) rmSync(path); // for example on a full disk: it would look like a truncated store
    const looking = openReadOnly(error, { path, clock, busyMsMax });
    if (looking === null) throw asStoreError(error, path);
    return looking;
  }
}

function requireFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  throw new RedriveError("input_invalid", `There is no store ${path}.`, {
    hint: "Check --store and REDRIVE_STORE. The first job, queue or import creates the store.",
  });
}

/** How long another process may take from creating the file to writing its first page. */
const CREATION_MS_MAX = 2000;

/** A file of 0 bytes was truncated, unless another process is creating the store right now. */
async function requireNotEmpty(path: string): Promise<void> {
  const deadline = performance.now() + CREATION_MS_MAX;
  while (isEmptyFile(path)) {
    if (performance.now() > deadline) {
      throw new RedriveError("store_corrupt", `The store ${path} is damaged: the file has 0 bytes.`, {
        hint: "Restore the file from a backup. If it was never a store, delete it: the next job, queue or import creates a new one.",
      });
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function isEmptyFile(path: string): boolean {
  const found = existsSync(path) ? statSync(path, { throwIfNoEntry: false }) : undefined;
  if (found === undefined || !found.isFile() || found.size > 0) return false;
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** Closes the session if the store cannot be used. */
async function prepareOrClose(session: Session, busyMsMax: number): Promise<void> {
  try {
    await prepareWhenFree(session, busyMsMax);
  } catch (error) {
    session.close();
    throw error;
  }
}

/** Several processes may create the store at the same time; one that finds it locked tries again. */
async function prepareWhenFree(session: Session, busyMsMax: number): Promise<void> {
  const began = performance.now();
  for (;;) {
    try {
      return await prepare(session);
    } catch (error) {
      const isBusy = error instanceof RedriveError && error.code === "store_busy";
      if (!isBusy || performance.now() > began + busyMsMax) throw error;
      session.reportWait(began);
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 9));
    }
  }
}

async function prepare(session: Session): Promise<void> {
  await setUpJournal(session);
  session.exec("PRAGMA synchronous = FULL");
  session.exec("PRAGMA foreign_keys = ON");
  session.exec("PRAGMA cache_size = -8192");
  session.exec("PRAGMA journal_size_limit = 67108864");
  // In pages. A busy queue rewrites the same pages, so less frequent checkpoints than the default are faster.
  session.exec("PRAGMA wal_autocheckpoint = 4000");
  session.foundVersion = version(session);
  if (session.foundVersion !== MIGRATIONS.length) await session.write(() => migrate(session));
  session.prepared(MIGRATIONS.length, () => followClock(session));
}

/** Switching the journal to WAL needs exclusive access for a moment; `write` waits for it. */
async function setUpJournal(session: Session): Promise<void> {
  const mode = session.get<{ journal_mode: string }>("PRAGMA journal_mode")?.journal_mode;
  if (mode === "wal") return requireOwn(session);
  await session.write(() => requireOwn(session));
  session.exec("PRAGMA busy_timeout = 2000");
  session.exec("PRAGMA journal_mode = WAL");
  session.exec("PRAGMA busy_timeout = 5");
}

/** Refuses another program's database without changing it. */
function requireOwn(session: Session): void {
  const found = session.get<{ tables: number; own: number }>(
    `SELECT count(*) AS tables, coalesce(sum(name IN ('queues', 'jobs', 'items')), 0) AS own
       FROM sqlite_master WHERE type = 'table'`,
  );
  if (found === undefined || found.tables === 0 || found.own === 3) return;
  throw new RedriveError(
    "store_corrupt",
    `The store ${session.path} is not a Redrive store: it is the database of another program.`,
    { hint: "Choose another --store." },
  );
}

function migrate(session: Session): void {
  const from = version(session); // read again: another process may have migrated while this one waited
  if (from > MIGRATIONS.length) {
    throw new RedriveError(
      "store_newer",
      `The store ${session.path} has schema version ${from}, but this version of Redrive supports ${MIGRATIONS.length}.`,
      {
        hint: "Install a newer version of Redrive.",
      },
    );
  }
  const steps = from === 0 ? [REDRIVE_NEW_STORE] : MIGRATIONS.slice(from);
  session.changingSchema(() => {
    for (const sql of steps) session.exec(sql);
  });
  session.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
}

function version(session: Session): number {
  return session.get<{ user_version: number }>("PRAGMA user_version")?.user_version ?? 0;
}

/** A store that cannot be written can still be read if it exists and has the current version. */
function openReadOnly(
  error: unknown,
  options: Required<Omit<SqliteOptions, "mustExist" | "onWait">>,
): Session | null {
  if (!isWriteTrouble(error)) return null;
  return tryReadOnly(options) ?? tryReadOnly({ ...options, ...immutable(options.path) });
}

/**
 * On a read-only medium SQLite cannot create its shared memory and does not need it, because the file cannot change. If only
 * permissions are missing, another user may be writing, and reading without shared memory would be wrong.
 */
function immutable(path: string): { url?: string } {
  if (!isReadOnlyMedium(path)) return {};
  const hasJournal = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (hasJournal) return {};
  return { url: `${pathToFileURL(resolve(path)).href}?immutable=1` };
}

function isReadOnlyMedium(path: string): boolean {
  try {
    closeSync(openSync(path, "r+"));
    return false;
  } catch (error) {
    return error instanceof Error && Reflect.get(error, "code") === "EROFS";
  }
}

function tryReadOnly(
  options: Required<Omit<SqliteOptions, "mustExist" | "onWait">> & { readonly url?: string },
): Session | null {
  try {
    const session = new Session({ ...options, readOnly: true });
    session.foundVersion = version(session);
    if (session.foundVersion === MIGRATIONS.length) return session;
    session.close();
    return null;
  } catch {
    return null; // the first error is more useful
  }
}

function isWriteTrouble(error: unknown): boolean {
  if (error instanceof RedriveError)
    return error.code === "store_readonly" || error.code === "store_unavailable";
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return code === "EACCES" || code === "EROFS" || code === "EPERM";
}

/** File system errors, such as a folder that cannot be created, are store errors too. */
function asStoreError(error: unknown, path: string): unknown {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  if (error instanceof RedriveError || typeof code !== "string" || !/^E[A-Z]+$/.test(code)) return error;
  const ours =
    code === "ENOSPC"
      ? "store_full"
      : code === "EROFS" || code === "EACCES"
        ? "store_readonly"
        : "store_unavailable";
  return new RedriveError(ours, `The store ${path} cannot be opened: ${(error as Error).message}.`, {
    cause: error,
    hint: "Choose another location with --store or REDRIVE_HOME.",
  });
}
