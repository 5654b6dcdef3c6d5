/** The records of one file or stream, whatever its form, packed or not. */
import { WorkError } from "../../errors.ts";
import { withoutComments } from "./comments.ts";
import { decompress } from "./compress.ts";
import { type Container, containerOf, type Head } from "./container.ts";
import { compressionOfBytes, type ImportFormat } from "./format.ts";
import { refusalOf } from "./parse-record.ts";
import type { Reading } from "./reading.ts";

/** Runs of readings. What goes wrong on the way is the last one; a form that nobody knows is thrown. */
export async function* readFile(
  chunks: AsyncIterable<Buffer>,
  file: string,
  format?: ImportFormat,
): AsyncGenerator<Iterable<Reading>> {
  const packed = await peek(chunks, MAGIC_BYTES_MAX);
  const plain = withoutComments(decompress(packed.chunks, compressionOfBytes(packed.bytes)));
  const progress = { hasBegun: false };
  try {
    const opened = await peek(plain, HEAD_BYTES);
    const read = await readerOf(containerOf(opened, file, format), file);
    progress.hasBegun = true;
    for await (const run of read(opened.chunks, file)) yield run;
  } catch (error) {
    if (!progress.hasBegun) throw error;
    yield [refusalOf(error, { file })];
  } finally {
    await plain.return(undefined); // closes the file also when nobody has read it to its end
  }
}

const MAGIC_BYTES_MAX = 4;
const HEAD_BYTES = 64 * 1024;

type Reader = (chunks: AsyncIterable<Buffer>, file: string) => AsyncIterable<Iterable<Reading>>;

async function readerOf(container: Container | undefined, file: string): Promise<Reader> {
  switch (container) {
    case "lines":
      return (await import("./read-lines.ts")).readJsonLines;
    case "csv":
      return (await import("./read-csv.ts")).readCsv;
    case "array":
      return (await import("./read-array.ts")).readArray;
    case "document":
      return (await import("./read-array.ts")).readDocument;
    case "single":
      return (await import("./read-array.ts")).readSingle;
    case undefined:
      throw new WorkError("input_invalid", `${file} is in no form that letters are known in.`, {
        hint: "JSON, JSON Lines, CSV with a column item_id, and folders of letters can be read; --format names one.",
      });
  }
}

/** The first bytes, at least so many unless there are fewer, and the stream from its beginning. */
async function peek(
  chunks: AsyncIterable<Buffer>,
  bytesMin: number,
): Promise<Head & { readonly chunks: AsyncIterable<Buffer> }> {
  const rest = chunks[Symbol.asyncIterator]();
  const pieces: Buffer[] = [];
  let length = 0;
  let isAll = false;
  while (length < bytesMin && !isAll) {
    const next = await rest.next();
    if (next.done) isAll = true;
    else {
      pieces.push(next.value);
      length += next.value.length;
    }
  }
  const bytes = Buffer.concat(pieces);
  return { bytes, isAll, chunks: replay(bytes, rest) };
}

async function* replay(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
