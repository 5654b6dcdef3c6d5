/**
 * Writes letters to a file, a folder or a stream. A file is there whole or not at all; letters pass one at a time, so that
 * memory does not depend on how many there are.
 */
import { stat } from "node:fs/promises";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { WorkError } from "../../errors.ts";
import type { Letter } from "../../item/letter.ts";
import { writeOut } from "../../kit/atomic-file.ts";
import { systemClock } from "../../kit/clock.ts";
import { writeDirectory } from "../directory.ts";
import { compress } from "./compress.ts";
import { type Compression, compressionOfName, type ExportFormat, formatOfName } from "./format.ts";
import { inPieces, textOf } from "./text-form.ts";

export interface ExportOptions {
  /** A file, a folder, or `-` for stdout. */
  readonly path: string;
  /** Default: by the name, else `json`. */
  readonly format?: ExportFormat;
  /** Where `-` writes. Default: the process's own. */
  readonly stdout?: Writable;
}

export interface Exported {
  readonly path: string;
  readonly format: ExportFormat;
  readonly compression: Compression;
  readonly letters: number;
}

/** Resolves when everything is written and safe. */
export async function exportLetters(
  letters: AsyncIterable<Letter>,
  options: ExportOptions,
): Promise<Exported> {
  const { path } = options;
  const format = await formatFor(options);
  const counter = new Counter(letters);
  const compression = path === "-" || format === "directory" ? "none" : compressionOfName(path);
  if (format === "directory") await writeDirectory(path, counter, { now: systemClock.now() });
  else {
    const bytes = compress(inPieces(textOf(counter, format)), compression);
    if (path === "-") await writeStream(bytes, options.stdout ?? process.stdout);
    else await writeFile(path, bytes);
  }
  return { path, format, compression, letters: counter.count };
}

async function formatFor({ path, format }: ExportOptions): Promise<ExportFormat> {
  if (path === "-") {
    if (format !== "directory") return format ?? "json";
    throw new WorkError("usage", "A folder of letters cannot be written to stdout.", {
      hint: "Name a folder.",
    });
  }
  const isFolder = (await stat(path).catch(() => null))?.isDirectory() ?? false; // writing says what is wrong
  const chosen = format ?? (isFolder ? "directory" : (formatOfName(path) ?? "json"));
  if (chosen === "directory" || !isFolder) return chosen;
  throw new WorkError("usage", `${path} is a folder, and the format ${chosen} is one file.`, {
    hint: "Name a file in it, or choose the format directory.",
  });
}

async function writeStream(bytes: AsyncIterable<Buffer>, stdout: Writable): Promise<void> {
  try {
    await pipeline(Readable.from(bytes, { objectMode: false }), stdout, { end: false });
  } catch (error) {
    if (codeOf(error) !== "EPIPE") throw cannotWrite("stdout", error); // its reader has seen enough
  }
}

async function writeFile(path: string, bytes: AsyncIterable<Buffer>): Promise<void> {
  try {
    await writeOut(path, bytes);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

function cannotWrite(path: string, error: unknown): unknown {
  const problem = WRITE_PROBLEMS[codeOf(error) ?? ""];
  if (problem === undefined) return error;
  return new WorkError("usage", `${path} cannot be written: ${problem}.`, {
    hint: "Choose another place; nothing was left there.",
    cause: error,
  });
}

const WRITE_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "its folder does not exist",
  ENOTDIR: "a part of the path is a file",
  EACCES: "you may not write there",
  EPERM: "you may not write there",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left",
  EDQUOT: "no space is left for you",
  EISDIR: "it is a folder",
  EPIPE: "nobody reads it",
};

function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Passes letters on and counts them. */
class Counter implements AsyncIterable<Letter> {
  readonly #letters: AsyncIterable<Letter>;
  count = 0;

  constructor(letters: AsyncIterable<Letter>) {
    this.#letters = letters;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Letter> {
    for await (const letter of this.#letters) {
      this.count += 1;
      yield letter;
    }
  }
}
