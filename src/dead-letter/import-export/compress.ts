/** Compresses and decompresses streams chunk by chunk, so that memory use does not depend on their size. */
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Zstd } from "@hpcc-js/wasm-zstd";
import { RedriveError } from "../../errors.ts";
import { codeOf, messageOf } from "../../std/thrown.ts";
import type { Compression } from "./reading.ts";

export async function* compress(chunks: AsyncIterable<Buffer>, compression: Compression) {
  if (compression === "none") yield* chunks;
  else if (compression === "zstd") yield* zstdCompress(chunks);
  else yield* through(chunks, (await import("node:zlib")).createGzip());
}

/** Yields all valid data before it throws on damaged or truncated input. */
export async function* decompress(chunks: AsyncIterable<Buffer>, compression: Compression) {
  if (compression === "none") yield* chunks;
  else if (compression === "zstd") yield* zstdDecompress(chunks);
  else yield* gunzip(chunks);
}

async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { createGunzip } = await import("node:zlib");
  try {
    yield* through(chunks, createGunzip());
  } catch (cause) {
    const code = codeOf(cause) ?? "";
    if (!code.startsWith("Z_")) throw cause;
    const problem = code === "Z_BUF_ERROR" ? "it is truncated" : messageOf(cause);
    const hint = "Get the file again, or test it with: gzip -t FILE.";
    throw new RedriveError("input_invalid", `The gzip data is damaged: ${problem}.`, { hint, cause });
  }
}

async function* through(chunks: AsyncIterable<Buffer>, transform: Duplex): AsyncGenerator<Buffer> {
  // An error destroys the transform, and the loop throws it.
  pipeline(chunks, transform).catch(() => undefined);
  for await (const chunk of transform) yield chunk as Buffer;
}

// Zstandard support comes from a WebAssembly library that is imported on first use. Node's own implementation
// (22.15 and later) stops silently after the first frame of a stream, and exports contain several frames.

/** The size of one frame. Consecutive frames are a valid stream, and each needs little memory. */
const FRAME_BYTES = 1024 * 1024;

/** Compresses a stream. An empty stream becomes an empty frame. */
export async function* zstdCompress(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const zstd = await load();
  let open: Buffer[] = [];
  let frames = 0;
  const packed = () => asBuffer(zstd.compress(Buffer.concat(open)));
  for await (const chunk of chunks) {
    open.push(chunk);
    if (open.reduce((sum, { length }) => sum + length, 0) < FRAME_BYTES) continue;
    yield packed();
    frames += 1;
    open = [];
  }
  if (open.length > 0 || frames === 0) yield packed();
}

export async function* zstdDecompress(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const zstd = await load();
  const endTurn = await takeTurn();
  try {
    for await (const piece of blockPieces(chunks)) {
      if (piece.isFirst) zstd.reset();
      const content = zstd.decompressChunk(piece.bytes, BLOCK_BYTES_MAX);
      // The library reports invalid data only by returning nothing.
      if (piece.isFilled && content.length === 0) throw damaged("a block cannot be decompressed");
      if (content.length > 0) yield asBuffer(content);
    }
  } finally {
    endTurn();
  }
}

let last: Promise<void> = Promise.resolve();

/** Waits for the previous stream: the library has a single decompression state. */
async function takeTurn(): Promise<() => void> {
  const before = last;
  let endTurn = () => {};
  last = new Promise((resolve) => {
    endTurn = resolve;
  });
  await before;
  return endTurn;
}

async function load(): Promise<Zstd> {
  const library = await import("@hpcc-js/wasm-zstd");
  const zstd = await library.Zstd.load();
  copyWithSlice(zstd);
  return zstd;
}

/**
 * The library copies its output byte by byte; `slice` is fifty times faster. Skipped if the library's
 * internals have changed.
 */
function copyWithSlice(zstd: Zstd): void {
  const heap: unknown = Reflect.get(zstd, "_mainModule");
  if (!isHeap(heap)) return;
  heap.heapToUint8Array = (handle) => heap.heapView(handle).slice();
}

type Heap = Record<"heapView" | "heapToUint8Array", (handle: unknown) => Uint8Array>;

function isHeap(value: unknown): value is Heap {
  const has = (name: string) => typeof Reflect.get(Object(value), name) === "function";
  return has("heapView") && has("heapToUint8Array");
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** One block of a frame. The first includes the frame's header, the last its checksum. */
export interface BlockPiece {
  readonly bytes: Buffer;
  readonly isFirst: boolean;
  /** Whether the block contains data. If decompression returns nothing for it, it is damaged. */
  readonly isFilled: boolean;
}

export const BLOCK_BYTES_MAX = 128 * 1024;

/** The blocks of all frames in order. Skips frames without data. */
export async function* blockPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<BlockPiece> {
  const bytes = new ByteReader(chunks);
  try {
    while (await bytes.has(MAGIC_BYTES)) {
      const magic = bytes.peek(MAGIC_BYTES).readUInt32LE();
      if (magic === FRAME) yield* frame(bytes);
      else if ((magic & SKIPPABLE_MASK) >>> 0 === SKIPPABLE) await skip(bytes);
      else throw damaged("a frame is followed by other data");
    }
    if (bytes.length > 0) throw damaged("it is truncated");
  } finally {
    await bytes.close();
  }
}

const MAGIC_BYTES = 4;
const FRAME = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;
const SKIPPABLE_MASK = 0xfffffff0;
const BLOCK_HEADER_BYTES = 3;
const CHECKSUM_BYTES = 4;

async function* frame(bytes: ByteReader): AsyncGenerator<BlockPiece> {
  await need(bytes, MAGIC_BYTES + 1);
  const descriptor = bytes.peek(MAGIC_BYTES + 1)[MAGIC_BYTES] ?? 0;
  const hasChecksum = (descriptor & 0b100) !== 0;
  let lead = headerBytes(descriptor);
  for (let isFirst = true, isLast = false; !isLast; isFirst = false, lead = 0) {
    await need(bytes, lead + BLOCK_HEADER_BYTES);
    const header = bytes.peek(lead + BLOCK_HEADER_BYTES).readUIntLE(lead, BLOCK_HEADER_BYTES);
    const size = header >>> 3;
    const isRepeated = ((header >>> 1) & 0b11) === 1; // one byte repeated `size` times
    isLast = (header & 1) === 1;
    if (size > BLOCK_BYTES_MAX) throw damaged("a block is too large");
    const length = lead + BLOCK_HEADER_BYTES + (isRepeated ? 1 : size);
    const whole = length + (isLast && hasChecksum ? CHECKSUM_BYTES : 0);
    await need(bytes, whole);
    yield { bytes: bytes.take(whole), isFirst, isFilled: size > 0 };
  }
}

/** Returns the length of a frame's header: magic, descriptor, window, dictionary and content size. */
function headerBytes(descriptor: number): number {
  const isSingle = (descriptor & 0b100000) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 0b11] ?? 0;
  const contentSize = [isSingle ? 1 : 0, 2, 4, 8][descriptor >>> 6] ?? 0;
  return MAGIC_BYTES + 1 + (isSingle ? 0 : 1) + dictionary + contentSize;
}

async function skip(bytes: ByteReader): Promise<void> {
  await need(bytes, 2 * MAGIC_BYTES);
  let left = bytes.take(2 * MAGIC_BYTES).readUInt32LE(MAGIC_BYTES);
  while (left > 0) {
    await need(bytes, 1);
    left -= bytes.take(Math.min(left, bytes.length)).length;
  }
}

async function need(bytes: ByteReader, count: number): Promise<void> {
  if (!(await bytes.has(count))) throw damaged("it is truncated");
}

export function damaged(problem: string): RedriveError {
  return new RedriveError("input_invalid", `The Zstandard data is damaged: ${problem}.`, {
    hint: "Get the file again, or test it with: zstd -t FILE.",
  });
}

class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #ahead: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  get length(): number {
    return this.#ahead.length;
  }

  /** Buffers at least this many bytes. Returns false if the stream ends earlier. */
  async has(count: number): Promise<boolean> {
    const pieces = [this.#ahead];
    let length = this.#ahead.length;
    while (length < count) {
      const next = await this.#chunks.next();
      if (next.done) break;
      pieces.push(next.value);
      length += next.value.length;
    }
    if (pieces.length > 1) this.#ahead = Buffer.concat(pieces);
    return length >= count;
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  peek(count: number): Buffer {
    return this.#ahead.subarray(0, count);
  }

  take(count: number): Buffer {
    const taken = this.#ahead.subarray(0, count);
    this.#ahead = this.#ahead.subarray(count);
    return taken;
  }
}
