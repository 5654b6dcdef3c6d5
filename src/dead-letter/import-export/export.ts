/** Writes letters to a file, a folder or a stream, one at a time. A file is written completely or not at all. */
import { stat } from "node:fs/promises";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { RedriveError } from "../../errors.ts";
import { type Letter, letterToJson } from "../../item/letter.ts";
import { systemClock } from "../../std/clock.ts";
import { writeOut } from "../../std/files.ts";
import { stringifyJson } from "../../std/json.ts";
import { codeOf } from "../../std/thrown.ts";
import { writeDirectory } from "../directory.ts";
import { compress } from "./compress.ts";
import { compressionOfName, type ExportFormat, formatOfName } from "./reading.ts";

/** The target and format of an export. */
export interface ExportOptions {
  /** A file, a folder, or `-` for stdout. */
  readonly path: string;
  /** Default: detected from the file name, or else `json`. */
  readonly format?: ExportFormat;
  /** The stream for `-`. Default: the process's stdout. */
  readonly stdout?: Writable;
}

/** Resolves when everything has been written and flushed. */
export async function exportLetters(letters: AsyncIterable<Letter>, options: ExportOptions) {
  const { path } = options;
  const format = await formatFor(options);
  let count = 0;
  const counted = (async function* () {
    for await (const letter of letters) {
      count += 1;
      yield letter;
    }
  })();
  const compression = path === "-" || format === "directory" ? "none" : compressionOfName(path);
  if (format === "directory") await writeDirectory(path, counted, { now: systemClock.now() });
  else {
    const bytes = compress(inPieces(textOf(counted, format)), compression);
    if (path === "-") await writeStream(bytes, options.stdout ?? process.stdout);
    else
      await writeOut(path, bytes).catch((error: unknown) => {
        throw cannotWrite(path, error);
      });
  }
  return { path, format, compression, letters: count };
}

async function formatFor({ path, format }: ExportOptions): Promise<ExportFormat> {
  if (path === "-") {
    if (format !== "directory") return format ?? "json";
    throw new RedriveError("usage", "A folder of letters cannot be written to stdout.", {
      hint: "Give the path of a folder.",
    });
  }
  const isFolder = (await stat(path).catch(() => null))?.isDirectory() ?? false; // the write reports errors
  const chosen = format ?? (isFolder ? "directory" : (formatOfName(path) ?? "json"));
  if (chosen === "directory" || !isFolder) return chosen;
  throw new RedriveError("usage", `${path} is a folder, but the format ${chosen} is a single file.`, {
    hint: "Give the path of a file, or use --format directory.",
  });
}

async function writeStream(bytes: AsyncIterable<Buffer>, stdout: Writable): Promise<void> {
  await pipeline(Readable.from(bytes, { objectMode: false }), stdout, { end: false }).catch(
    (error: unknown) => {
      if (codeOf(error) !== "EPIPE") throw cannotWrite("stdout", error); // the reader closed the pipe, which is not an error
    },
  );
}

function cannotWrite(path: string, cause: unknown): unknown {
  const problem = WRITE_PROBLEMS[codeOf(cause) ?? ""];
  if (problem === undefined) return cause;
  const hint = "Give another path; nothing was written.";
  return new RedriveError("usage", `${path} cannot be written: ${problem}.`, { hint, cause });
}

const WRITE_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "its folder does not exist",
  ENOTDIR: "a part of the path is a file",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left",
  EDQUOT: "your disk quota is used up",
  EISDIR: "it is a folder",
  EPIPE: "its reader has closed it",
};

export type TextFormat = Exclude<ExportFormat, "directory">;

export async function* textOf(letters: AsyncIterable<Letter>, format: TextFormat): AsyncGenerator<string> {
  if (format === "json")
    return yield* arrayText(letters, letterToJson, ['{"items":[', (total) => `],"total":${total}}`]);
  if (format === "receipts") {
    const { receiptOfLetter } = await import("./error-body.ts");
    return yield* arrayText(letters, receiptOfLetter, ["[", () => "]"]);
  }
  const { head, write } = await rowsOf(format);
  yield head;
  for await (const letter of letters) yield write(letter);
}

/** A JSON array with one line per letter, for `grep` and `diff`. */
async function* arrayText(
  letters: AsyncIterable<Letter>,
  toJson: (letter: Letter) => object,
  [open, close]: readonly [open: string, close: (total: number) => string],
): AsyncGenerator<string> {
  let total = 0;
  yield open;
  for await (const letter of letters) {
    yield `${total === 0 ? "" : ","}\n${stringifyJson(toJson(letter))}`;
    total += 1;
  }
  yield `${total === 0 ? "" : "\n"}${close(total)}\n`;
}

async function rowsOf(format: Exclude<TextFormat, "json" | "receipts">) {
  if (format === "jsonl") return { head: "", write: (letter: Letter) => line(letterToJson(letter)) };
  if (format === "csv") {
    const { CSV_HEADER, csvRow } = await import("./csv.ts");
    return { head: CSV_HEADER, write: csvRow };
  }
  const { errorBodiesOf } = await import("./error-body.ts");
  return { head: "", write: (letter: Letter) => errorBodiesOf(letter).map(line).join("") };
}

function line(json: object): string {
  return `${stringifyJson(json)}\n`;
}

const PIECE_CHARACTERS = 64 * 1024;

/** Joins small strings into larger chunks, which compress and write faster. */
export async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let open = "";
  for await (const text of texts) {
    open += text;
    if (open.length < PIECE_CHARACTERS) continue;
    yield Buffer.from(open);
    open = "";
  }
  if (open !== "") yield Buffer.from(open);
}
