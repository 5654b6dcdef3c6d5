/**
 * Cuts a stream of Zstandard frames (RFC 8878) into pieces of one block each. A block never becomes more than 128 KB, so
 * whoever unpacks piece by piece knows how much memory it takes, whatever the file pretends.
 */
import { WorkError } from "../../errors.ts";

/** One block; the first of a frame brings the frame's header along, the last its checksum. */
export interface BlockPiece {
  readonly bytes: Buffer;
  readonly isFirst: boolean;
  /** Whether something has to come out of it. Nothing means that it is damaged. */
  readonly isFilled: boolean;
}

/** What a block becomes at most. */
export const BLOCK_BYTES_MAX = 128 * 1024;

/** The pieces of all frames, one frame after the other. Frames that carry no data are passed over. */
export async function* blockPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<BlockPiece> {
  const bytes = new ByteReader(chunks);
  try {
    while (await bytes.has(MAGIC_BYTES)) {
      const magic = bytes.peek(MAGIC_BYTES).readUInt32LE();
      if (magic === FRAME) yield* frame(bytes);
      else if ((magic & SKIPPABLE_MASK) >>> 0 === SKIPPABLE) await skip(bytes);
      else throw damaged("something else follows a frame");
    }
    if (bytes.length > 0) throw damaged("it is cut off");
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
    const isRepeated = ((header >>> 1) & 0b11) === 1; // one byte, `size` times
    isLast = (header & 1) === 1;
    if (size > BLOCK_BYTES_MAX) throw damaged("a block is too large");
    const length = lead + BLOCK_HEADER_BYTES + (isRepeated ? 1 : size);
    const whole = length + (isLast && hasChecksum ? CHECKSUM_BYTES : 0);
    await need(bytes, whole);
    yield { bytes: bytes.take(whole), isFirst, isFilled: size > 0 };
  }
}

/** Magic, descriptor, window, dictionary and content size; how long the last three are is in the descriptor. */
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
  if (!(await bytes.has(count))) throw damaged("it is cut off");
}

/** The error for a stream that cannot be unpacked. */
export function damaged(problem: string): WorkError {
  return new WorkError("input_invalid", `The Zstandard data is damaged: ${problem}.`, {
    hint: "Get the file again, or test it with: zstd -t FILE.",
  });
}

/** Bytes that are asked for in lengths of one's own. */
class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #ahead: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** How many are there without waiting. */
  get length(): number {
    return this.#ahead.length;
  }

  /** Reads until so many are there; false when the stream has no more. */
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

  /** Says that nobody wants more. */
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
