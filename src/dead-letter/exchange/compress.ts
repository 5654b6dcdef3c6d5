/** Packing and unpacking of streams. Nothing is held but what is on its way, however much comes out in the end. */
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { WorkError } from "../../errors.ts";
import type { Compression } from "./format.ts";

/** The bytes, packed. */
export async function* compress(
  chunks: AsyncIterable<Buffer>,
  compression: Compression,
): AsyncGenerator<Buffer> {
  if (compression === "none") yield* chunks;
  else if (compression === "zstd") yield* (await import("./zstd.ts")).zstdCompress(chunks);
  else yield* through(chunks, (await import("node:zlib")).createGzip());
}

/** The bytes as they were before they were packed. What is damaged or cut off is an error, after all that is good. */
export async function* decompress(
  chunks: AsyncIterable<Buffer>,
  compression: Compression,
): AsyncGenerator<Buffer> {
  if (compression === "none") yield* chunks;
  else if (compression === "zstd") yield* (await import("./zstd.ts")).zstdDecompress(chunks);
  else yield* gunzip(chunks);
}

async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { createGunzip } = await import("node:zlib");
  try {
    yield* through(chunks, createGunzip());
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
    if (typeof code !== "string" || !/^Z_/.test(code)) throw error;
    const problem = code === "Z_BUF_ERROR" ? "it is cut off" : String((error as Error).message);
    throw new WorkError("input_invalid", `The gzip data is damaged: ${problem}.`, {
      hint: "Get the file again, or test it with: gzip -t FILE.",
      cause: error,
    });
  }
}

async function* through(chunks: AsyncIterable<Buffer>, transform: Duplex): AsyncGenerator<Buffer> {
  // What goes wrong destroys the transform, and is thrown by the loop.
  pipeline(chunks, transform).catch(() => undefined);
  for await (const chunk of transform) yield chunk as Buffer;
}
