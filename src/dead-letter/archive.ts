/**
 * Archives: what is deleted from the store is kept here first, one file for each operation. Each step appends a gzip
 * member and flushes it; how long the file is then is written by the store in the same step that deletes. What a
 * crash left beyond that length is cut off before the next step: no letter is in it twice, none is deleted that is not in it.
 *
 *   $REDRIVE_HOME/dlq/archive/{job}/{operation}.jsonl.gz    a letter (`letterToJson`) on each line
 */
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { createGunzip, gzip } from "node:zlib";
import { WorkError } from "../errors.ts";
import { fileNameOf } from "../item/item-path.ts";
import { type Letter, letterFromJson, letterToJson } from "../item/letter.ts";
import { assert } from "../kit/assert.ts";
import { PRIVATE_FOLDER } from "../kit/private-files.ts";

const compress = promisify(gzip);

/** Where the archive of an operation lies. */
export function archivePath(home: string, jobId: string, operationId: string): string {
  return join(archiveFolder(home, jobId), `${fileNameOf(operationId)}.jsonl.gz`);
}

/** Where the archives of a job lie. */
export function archiveFolder(home: string, jobId: string): string {
  return join(home, "dlq", "archive", fileNameOf(jobId));
}

/** An archive that is being written, by one process at a time. */
export class ArchiveWriter {
  readonly path: string;
  readonly #file: FileHandle;
  #bytes: number;

  private constructor(path: string, file: FileHandle, bytes: number) {
    this.path = path;
    this.#file = file;
    this.#bytes = bytes;
  }

  /** Opens the file, or makes it, and cuts it back to the length that is known to be good. */
  static async open(path: string, bytes: number): Promise<ArchiveWriter> {
    const file = bytes === 0 ? await make(path) : await open(path, "r+").catch(missing(path));
    try {
      const { size } = await file.stat();
      if (size < bytes) throw tooShort(path);
      await file.truncate(bytes);
      await file.sync();
    } catch (error) {
      await file.close();
      throw error;
    }
    return new ArchiveWriter(path, file, bytes);
  }

  /** Returns the new length when all of it is on the disk. */
  async append(letters: readonly Letter[]): Promise<number> {
    if (letters.length === 0) return this.#bytes;
    const text = letters.map((letter) => `${JSON.stringify(letterToJson(letter))}\n`).join("");
    const member = await compress(text);
    await this.#writeAll(member);
    await this.#file.sync();
    this.#bytes += member.length;
    const { size } = await this.#file.stat();
    assert(size === this.#bytes, `the archive ${this.path} has ${size} bytes instead of ${this.#bytes}`);
    return this.#bytes;
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** One call may write a part only. */
  async #writeAll(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, this.#bytes + done);
      done += bytesWritten;
    }
  }
}

/** Makes the file and its folders, such that their names survive a power cut. */
async function make(path: string): Promise<FileHandle> {
  const folder = dirname(path);
  const firstMade = await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  const file = await open(path, "w+", 0o600);
  const top = firstMade === undefined ? folder : dirname(firstMade);
  for (let at = folder; ; at = dirname(at)) {
    await syncFolder(at);
    if (at === top) return file;
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Every letter of an archive, in order; with `bytes`, only what lies before that. */
export async function* readArchive(path: string, bytes?: number): AsyncGenerator<Letter> {
  const length = bytes ?? (await stat(path).catch(missing(path))).size;
  if (length === 0) return;
  const file = createReadStream(path, { end: length - 1 });
  const text = file.pipe(createGunzip());
  file.on("error", (error) => text.destroy(error));
  try {
    for await (const line of linesOf(text)) yield letterFromJson(JSON.parse(line));
  } catch (error) {
    throw isMissing(error) ? missing(path)(error) : unreadable(path, error);
  } finally {
    file.destroy();
  }
}

/** Split at line feeds alone: JSON text may hold the other ends of lines. */
async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, "code") === "ENOENT";
}

/** For `catch`: throws what a user can understand. */
function missing(path: string): (error: unknown) => never {
  return (error) => {
    if (!isMissing(error)) throw error;
    throw new WorkError("illegal_move", `The archive ${path} is not there.`, {
      hint: "Bring it back to that place first.",
      cause: error,
    });
  };
}

function tooShort(path: string): WorkError {
  return new WorkError("illegal_move", `The archive ${path} is shorter than it was.`, {
    hint: "It holds letters that were deleted. Bring the whole file back, or cancel the operation.",
  });
}

function unreadable(path: string, cause: unknown): WorkError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new WorkError("input_invalid", `The archive ${path} cannot be read: ${why}.`, {
    hint: "Bring back a copy of it that is whole.",
    cause,
  });
}
