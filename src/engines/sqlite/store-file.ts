/**
 * Compares the open file with the one at its path. SQLite keeps writing to a file that was deleted, moved or
 * replaced, and to a truncated journal; writes acknowledged after that would be lost. Nothing here opens the
 * store's files, because closing one would release SQLite's locks in this process.
 */
import { execFileSync } from "node:child_process";
import { type BigIntStats, statSync } from "node:fs";
import { RedriveError } from "../../errors.ts";

/** The layout of the shared memory file (`-shm`), as SQLite documents it in walformat.html. */
const PAGE_SIZE = 14;
const FRAMES = 16;
const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

export class StoreFile {
  readonly #path: string;
  readonly #opened: BigIntStats | undefined;
  #journalBytes = 0;

  /** Must be created when the file is open. */
  constructor(path: string) {
    this.#path = path;
    this.#opened = identityOf(path);
    this.noteJournal();
  }

  /** Throws `store_unavailable` when the path leads to no file or to another one. */
  requireSame(): void {
    if (this.isAt(this.#path)) return;
    const found = identityOf(this.#path);
    const what = found === undefined ? "was removed" : "was replaced by another file";
    throw new RedriveError("store_unavailable", `The store ${this.#path} ${what} while it was open.`, {
      hint: "Nothing more was acknowledged. Restore the file, or restart to use the new one.",
      isStoreGone: true,
    });
  }

  /** Whether the path leads to the file that was opened. */
  isAt(path: string): boolean {
    const found = identityOf(path);
    const opened = this.#opened;
    return opened !== undefined && found?.ino === opened.ino && found.dev === opened.dev;
  }

  /** Records the length of the journal after a commit. */
  noteJournal(): void {
    this.#journalBytes = this.#journalSize();
  }

  /** Throws `store_corrupt` if the journal is shorter than the part that SQLite has committed. */
  requireWholeJournal(): void {
    const bytes = this.#journalSize();
    if (bytes >= this.#journalBytes) return;
    const committed = committedBytes(`${this.#path}-shm`); // a checkpoint of another process may have shortened it
    if (bytes < committed) throw this.#truncated(bytes, committed);
    this.#journalBytes = bytes;
  }

  #journalSize(): number {
    return statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  #truncated(bytes: number, committed: number): RedriveError {
    return new RedriveError(
      "store_corrupt",
      `The journal ${this.#path}-wal was truncated to ${bytes} bytes while the store was open; ${committed} were committed.`,
      { hint: "Stop every process that uses the store, and run `redrive store check`." },
    );
  }
}

/** Reads the file in a child process, whose locks are separate. Needed only if the journal became shorter. */
function committedBytes(shmPath: string): number {
  const script = "process.stdout.write(require('fs').readFileSync(process.argv[1]).subarray(0, 48))";
  const header = execFileSync(process.execPath, ["-e", script, shmPath]);
  if (header.length < FRAMES + 4) return 0;
  const view = new DataView(header.buffer, header.byteOffset, header.length);
  const frames = view.getUint32(FRAMES, IS_LITTLE_ENDIAN);
  const pageBytes = view.getUint16(PAGE_SIZE, IS_LITTLE_ENDIAN);
  if (frames === 0) return 0;
  return WAL_HEADER_BYTES + frames * (FRAME_HEADER_BYTES + (pageBytes === 1 ? 65_536 : pageBytes));
}

/** The shared memory file is in the byte order of the machine. */
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

function identityOf(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}
