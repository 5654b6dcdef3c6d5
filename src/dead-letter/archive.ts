/**
 * Archives of deleted letters, one file per operation. Each step appends a gzip member and flushes it; the
 * store records the new length in the transaction that deletes the letters. After a crash the file is
 * truncated to that length, so that no letter is archived twice and none is deleted without being archived.
 *
 *   $REDRIVE_HOME/dlq/archive/{job}/{operation}.jsonl.gz    one letter (`letterToJson`) per line
 */

import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { createGunzip, gzip } from "node:zlib";
import { RedriveError } from "../errors.ts";
import { fileNameOf } from "../item/item.ts";
import { type Letter, letterFromJson, letterToJson } from "../item/letter.ts";
import { assert } from "../std/assert.ts";
import { PRIVATE_FOLDER, withFile } from "../std/files.ts";
import { type JsonObject, parseJson, stringifyJson } from "../std/json.ts";
import { codeOf, messageOf } from "../std/thrown.ts";

const compress = promisify(gzip);

export function archivePath(home: string, jobId: string, operationId: string): string {
  return join(archiveFolder(home, jobId), `${fileNameOf(operationId)}.jsonl.gz`);
}

export function archiveFolder(home: string, jobId: string): string {
  return join(home, "dlq", "archive", fileNameOf(jobId));
}

/** Writes an archive. Only one process may write it at a time. */
export class ArchiveWriter {
  readonly path: string;
  readonly #file: FileHandle;
  #bytes: number;

  private constructor(path: string, file: FileHandle, bytes: number) {
    this.path = path;
    this.#file = file;
    this.#bytes = bytes;
  }

  /** Opens or creates the file, and truncates it to the length that the store recorded. */
  static async open(path: string, bytes: number): Promise<ArchiveWriter> {
    const file = bytes === 0 ? await create(path) : await open(path, "r+").catch(missing(path));
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

  /** Returns the new length after all data has been flushed to disk. */
  async append(letters: readonly Letter[]): Promise<number> {
    if (letters.length === 0) return this.#bytes;
    const text = letters.map((letter) => `${stringifyJson(letterToJson(letter))}\n`).join("");
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

  /** One call of `write` may write only a part of the bytes. */
  async #writeAll(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, this.#bytes + done);
      done += bytesWritten;
    }
  }
}

/** Creates the file and its folders, and flushes the folders so that the entries survive a power failure. */
async function create(path: string): Promise<FileHandle> {
  const folder = dirname(path);
  const firstMade = await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  const file = await open(path, "w+", 0o600);
  const top = firstMade === undefined ? folder : dirname(firstMade);
  for (let at = folder; ; at = dirname(at)) {
    await withFile(at, "r", (handle) => handle.sync());
    if (at === top) return file;
  }
}

/** Reads the letters of an archive in order; `bytes` limits how much of the file is read. */
export async function* readArchive(path: string, bytes?: number): AsyncGenerator<Letter> {
  const length = bytes ?? (await stat(path).catch(missing(path))).size;
  if (length === 0) return;
  const file = createReadStream(path, { end: length - 1 });
  const text = file.pipe(createGunzip());
  file.on("error", (error) => text.destroy(error));
  try {
    for await (const line of linesOf(text)) yield letterFromJson(parseJson(line) as JsonObject);
  } catch (error) {
    throw codeOf(error) === "ENOENT" ? missing(path)(error) : unreadable(path, error);
  } finally {
    file.destroy();
  }
}

/** Yields lines. Splits only at line feeds, because JSON strings may contain other line separators. */
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

/** Use in `catch`: converts the error for a missing file into a `RedriveError`. */
function missing(path: string): (error: unknown) => never {
  return (cause) => {
    if (codeOf(cause) !== "ENOENT") throw cause;
    const hint = "Put the file back at this path first.";
    throw new RedriveError("illegal_move", `The archive ${path} does not exist.`, { hint, cause });
  };
}
function tooShort(path: string): RedriveError {
  return new RedriveError("illegal_move", `The archive ${path} is shorter than recorded in the store.`, {
    hint: "It contains deleted letters. Restore the complete file, or cancel the operation.",
  });
}

function unreadable(path: string, cause: unknown): RedriveError {
  return new RedriveError("input_invalid", `The archive ${path} cannot be read: ${messageOf(cause)}.`, {
    hint: "Restore an undamaged copy of the file.",
    cause,
  });
}
