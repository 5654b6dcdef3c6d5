/**
 * The file that a session has open, compared with the one that its path names now. SQLite goes on writing into a file that was
 * deleted, moved or replaced, and into a journal that was truncated: what is acknowledged then would be lost.
 */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { WorkError } from "../../errors.ts";

interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/** The layout of the shared memory file (`-shm`), as SQLite documents it in walformat.html. */
const SHM_HEADER_BYTES = 48;
const CHANGE_COUNTER = 8;
const PAGE_SIZE = 14;
const FRAMES = 16;
const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

export class StoreFile {
  readonly #path: string;
  readonly #opened: Identity | undefined;

  /** To be made when the file is open. */
  constructor(path: string) {
    this.#path = path;
    this.#opened = identityOf(path);
  }

  /** Throws `store_unavailable` when the path leads to no file or to another one. */
  requireSame(): void {
    const found = identityOf(this.#path);
    const opened = this.#opened;
    if (opened !== undefined && found?.ino === opened.ino && found.dev === opened.dev) return;
    const what = found === undefined ? "was removed" : "was replaced by another file";
    throw new WorkError("store_unavailable", `The store ${this.#path} ${what} while it was open.`, {
      hint: "Nothing more was acknowledged. Put the file back, or start again with the store that is there.",
    });
  }

  /** Throws `store_corrupt` when the journal is shorter than what SQLite has committed to it. */
  requireWholeJournal(): void {
    const before = this.#committed();
    const bytes = statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (before === undefined || bytes >= before.bytes) return;
    // Another process may have started the journal anew between the two looks.
    if (this.#committed()?.change !== before.change) return;
    throw new WorkError(
      "store_corrupt",
      `The journal ${this.#path}-wal was truncated to ${bytes} bytes while the store was open; ${before.bytes} were committed.`,
      { hint: "Stop every process that uses the store, and run `redrive store check`." },
    );
  }

  #committed(): { readonly bytes: number; readonly change: number } | undefined {
    const header = headOf(`${this.#path}-shm`);
    if (header === undefined) return undefined;
    const view = new DataView(header.buffer, header.byteOffset);
    const isLittle = IS_LITTLE_ENDIAN;
    const frames = view.getUint32(FRAMES, isLittle);
    const pageBytes = view.getUint16(PAGE_SIZE, isLittle);
    if (frames === 0) return undefined;
    const frameBytes = FRAME_HEADER_BYTES + (pageBytes === 1 ? 65_536 : pageBytes);
    return {
      bytes: WAL_HEADER_BYTES + frames * frameBytes,
      change: view.getUint32(CHANGE_COUNTER, isLittle),
    };
  }
}

/** The shared memory file is in the byte order of the machine. */
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

function identityOf(path: string): Identity | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

function headOf(path: string): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch {
    return undefined; // a store on a read-only medium has none
  }
  try {
    const header = Buffer.alloc(SHM_HEADER_BYTES);
    return readSync(fd, header, 0, SHM_HEADER_BYTES, 0) === SHM_HEADER_BYTES ? header : undefined;
  } finally {
    closeSync(fd);
  }
}
