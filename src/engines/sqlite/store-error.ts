/** Converts SQLite's errors into errors with a cause and a hint. */
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { RedriveError } from "../../errors.ts";

const PRIMARY_CODE = 0xff;
const IO_ERROR = 10;
const FULL = 13;

/** SQLite's primary result codes that a user may see. */
const MEANING: Readonly<
  Record<number, readonly [ConstructorParameters<typeof RedriveError>[0], string, string]>
> = {
  5: ["store_busy", "is locked by another process", "Try again when the other process is done."],
  6: ["store_busy", "is locked by another connection", "Try again when the other connection is done."],
  8: [
    "store_readonly",
    "cannot be written",
    "Check the permissions of the file and its folder, or choose another --store.",
  ],
  10: ["store_unavailable", "could not be read or written", "Check the disk, then try again."],
  11: ["store_corrupt", "is damaged", "Run `redrive store check` to see the damage and what can be saved."],
  13: [
    "store_full",
    "cannot be written: the disk is full",
    "Free some space; nothing was lost, and `redrive resume` continues the work.",
  ],
  14: ["store_unavailable", "cannot be opened", "Check that the folder exists and is readable and writable."],
  26: [
    "store_corrupt",
    "is not a Redrive store: the file is not a SQLite database",
    "Choose another --store, or move the file.",
  ],
};

export function storeError(error: unknown, path: string): unknown {
  const sqlite = sqliteCode(error);
  const code = sqlite !== undefined && (sqlite & PRIMARY_CODE) === IO_ERROR && isFull(path) ? FULL : sqlite;
  const meaning = code === undefined ? undefined : MEANING[code & PRIMARY_CODE];
  if (meaning === undefined) return error;
  const [ours, what, hint] = meaning;
  return new RedriveError(ours, `The store ${path} ${what}.`, { cause: error, hint });
}

const ROOM_BYTES_MIN = 64 * 1024;

/** SQLite reports an I/O error when there is no space for its shared memory file. */
function isFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize < ROOM_BYTES_MIN;
  } catch {
    return false; // the original I/O error is reported instead
  }
}

/**
 * Returns SQLite's result code. The library omits it if reading the next row failed; the message is then
 * used.
 */
function sqliteCode(error: unknown): number | undefined {
  if (!isSqliteError(error)) return undefined;
  const code: unknown = Reflect.get(error, "errcode");
  return typeof code === "number" ? code : CODE_OF_MESSAGE[error.message];
}

export function isSqliteError(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return (
    Reflect.get(error, "code") === "ERR_SQLITE_ERROR" || typeof Reflect.get(error, "errcode") === "number"
  );
}

/** The texts of `sqlite3_errstr`. */
const CODE_OF_MESSAGE: Readonly<Record<string, number>> = {
  "database is locked": 5,
  "database table is locked": 6,
  "attempt to write a readonly database": 8,
  "disk I/O error": 10,
  "database disk image is malformed": 11,
  "database or disk is full": 13,
  "unable to open database file": 14,
  "file is not a database": 26,
};
