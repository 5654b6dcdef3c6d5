/**
 * Zstandard, by a library in WebAssembly that is loaded when a `.zst` is met. Node has one of its own from 22.15 on, but it
 * stops after the first frame of a stream and drops the rest without a word, and a stream of frames is what we write.
 */
import type { Zstd } from "@hpcc-js/wasm-zstd";
import { BLOCK_BYTES_MAX, blockPieces, damaged } from "./zstd-blocks.ts";

/** So much becomes one frame: frames that follow one another are one valid stream, and each needs little memory. */
const FRAME_BYTES = 1024 * 1024;

/** Packs a stream. An empty one becomes an empty frame. */
export async function* zstdCompress(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const zstd = await load();
  let open: Buffer[] = [];
  let openBytes = 0;
  let frames = 0;
  for await (const chunk of chunks) {
    open.push(chunk);
    openBytes += chunk.length;
    if (openBytes < FRAME_BYTES) continue;
    yield packed(zstd, open);
    frames += 1;
    open = [];
    openBytes = 0;
  }
  if (openBytes > 0 || frames === 0) yield packed(zstd, open);
}

function packed(zstd: Zstd, pieces: readonly Buffer[]): Buffer {
  return asBuffer(zstd.compress(Buffer.concat(pieces)));
}

/** Unpacks a stream of frames, block by block. */
export async function* zstdDecompress(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const zstd = await load();
  const leave = await enter();
  try {
    for await (const piece of blockPieces(chunks)) {
      if (piece.isFirst) zstd.reset();
      const content = zstd.decompressChunk(piece.bytes, BLOCK_BYTES_MAX);
      // The library has no other way to say that the bytes made no sense to it.
      if (piece.isFilled && content.length === 0) throw damaged("a block cannot be unpacked");
      if (content.length > 0) yield asBuffer(content);
    }
  } finally {
    leave();
  }
}

let last: Promise<void> = Promise.resolve();

/** The library has one state for unpacking: streams are read one after the other. */
async function enter(): Promise<() => void> {
  const before = last;
  let leave = () => {};
  last = new Promise((resolve) => {
    leave = resolve;
  });
  await before;
  return leave;
}

async function load(): Promise<Zstd> {
  const library = await import("@hpcc-js/wasm-zstd");
  const zstd = await library.Zstd.load();
  copyInOneGo(zstd);
  return zstd;
}

/** What the library uses to bring results out of its memory. */
interface Heap {
  heapView(place: unknown): Uint8Array;
  heapToUint8Array(place: unknown): Uint8Array;
}

/**
 * The library copies results out of its memory number by number; in one go it is fifty times as fast. Where it is made
 * differently inside, it is left as it is.
 */
function copyInOneGo(zstd: Zstd): void {
  const heap: unknown = Reflect.get(zstd, "_mainModule");
  if (!isHeap(heap)) return;
  heap.heapToUint8Array = (place) => heap.heapView(place).slice();
}

function isHeap(value: unknown): value is Heap {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof Reflect.get(value, "heapView") === "function" &&
    typeof Reflect.get(value, "heapToUint8Array") === "function"
  );
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
