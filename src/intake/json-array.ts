/** Reads a JSON array of any size: each element is cut out of the stream and parsed on its own. */
import type { RedriveError } from "../errors.ts";
import {
  decodeRecord,
  type IntakeRecord,
  invalidInput,
  type Origin,
  RECORD_BYTES_MAX,
  recordTooLong,
} from "./origin.ts";
import { BYTE, isByteOrderMark, JSON_SPACE, parseInputJson } from "./parse-json.ts";

/** Reads the elements of one top-level array. An empty input has no items. */
export async function* readJsonArray(
  chunks: AsyncIterable<Buffer>,
  origin: Origin,
): AsyncGenerator<Iterable<IntakeRecord>> {
  const scanner = new ArrayScanner(origin);
  for await (const chunk of chunks) yield recordsOf(scanner.push(chunk), origin);
  scanner.end();
}

function* recordsOf(elements: Iterable<Element>, origin: Origin): Generator<IntakeRecord> {
  for (const { bytes, line, column } of elements) {
    yield { data: parseInputJson(decodeRecord(bytes, origin, line), origin, { line, column }), line };
  }
}

export interface Element {
  readonly bytes: Buffer;
  readonly line: number;
  /** The column, counted in bytes. */
  readonly column: number;
}

/** What the scanner expects next: the array, its first value or end, a value, the rest of a value, or nothing. */
type State = "array" | "first" | "value" | "inside" | "nothing";

/** Finds the elements of a top-level array by counting brackets; the parser decides whether an element is valid. */
export class ArrayScanner {
  readonly #origin: Origin;
  readonly #onRest: ((bytes: Buffer) => void) | undefined;
  #state: State = "array";
  /** The total size of the earlier chunks, in bytes. */
  #offset = 0;
  #line = 1;
  #lineStart = 0;
  // State of the current element.
  #pieces: Buffer[] = [];
  #piecesBytes = 0;
  #elementLine = 1;
  #elementColumn = 1;
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** `onRest` receives the bytes after the array, without leading white space. If absent, such bytes are an error. */
  constructor(origin: Origin, onRest?: (bytes: Buffer) => void) {
    this.#origin = origin;
    this.#onRest = onRest;
  }

  /** Yields the elements that this chunk completes. Must be consumed before the next chunk. */
  *push(chunk: Buffer): Generator<Element> {
    let index = 0;
    for (;;) {
      if (this.#state !== "inside") index = this.#toNextElement(chunk, index);
      if (index === chunk.length) break;
      const end = this.#toEndOfElement(chunk, index);
      this.#keep(chunk.subarray(index, end));
      if (end === chunk.length) break;
      yield this.#takeElement();
      this.#state = chunk[end] === BYTE.comma ? "value" : "nothing";
      index = end + 1;
    }
    this.#offset += chunk.length;
  }

  end(): void {
    if (this.#state === "nothing" || this.#state === "array") return;
    const isInside = this.#state === "inside";
    throw this.#invalid(
      `invalid JSON: the input ends inside ${isInside ? "this element" : "the array"}`,
      "It may be truncated: write it again, or close the array with ].",
      isInside ? this.#elementLine : this.#line,
    );
  }

  /** Skips white space and separators. Returns the index of the next element, or the length. */
  #toNextElement(chunk: Buffer, from: number): number {
    for (let index = from; index < chunk.length; index++) {
      const byte = chunk[index] ?? 0;
      if (byte === BYTE.lineFeed) this.#newLine(index);
      if (JSON_SPACE.has(byte) || isByteOrderMark(byte, this.#offset + index)) continue;
      if (this.#state === "nothing") {
        if (this.#onRest === undefined) throw this.#invalid(MORE_AFTER_ARRAY, ONE_ARRAY_HINT);
        this.#onRest(chunk.subarray(index));
        return chunk.length;
      }
      if (this.#state === "array") this.#openArray(byte);
      else if (byte === BYTE.closeArray) this.#closeArray();
      else {
        this.#openElement(byte, index);
        return index;
      }
    }
    return chunk.length;
  }

  #openArray(byte: number): void {
    this.#state = "first";
    if (byte === BYTE.openArray) return;
    const found = byte === BYTE.openObject ? "an object" : "something else";
    throw this.#invalid(`expected a JSON array, which starts with [, but found ${found}`, EXPECT_ARRAY_HINT);
  }

  #closeArray(): void {
    if (this.#state === "value")
      throw this.#invalid("invalid JSON: a comma before the end of the array", "Remove the comma.");
    this.#state = "nothing";
  }

  #openElement(byte: number, index: number): void {
    if (byte === BYTE.comma) {
      throw this.#invalid("invalid JSON: a value is missing before a comma", "Remove the comma.");
    }
    this.#state = "inside";
    this.#elementLine = this.#line;
    this.#elementColumn = this.#offset + index - this.#lineStart + 1;
    this.#depth = 0;
  }

  /** Returns the index of the comma or bracket that ends the element, or the length if it continues. The hot loop. */
  #toEndOfElement(chunk: Buffer, from: number): number {
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    let index = from;
    for (; index < chunk.length; index++) {
      const byte = chunk[index];
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BYTE.quote) inString = false;
        else if (byte === BYTE.backslash) escaped = true;
      } else if (byte === BYTE.quote) inString = true;
      else if (byte === BYTE.openObject || byte === BYTE.openArray) depth++;
      else if (depth === 0 && (byte === BYTE.comma || byte === BYTE.closeArray)) break;
      else if ((byte === BYTE.closeObject || byte === BYTE.closeArray) && depth > 0) depth--;
      else if (byte === BYTE.lineFeed) this.#newLine(index);
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
    return index;
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#piecesBytes += piece.length;
    if (this.#piecesBytes > RECORD_BYTES_MAX) throw recordTooLong(this.#origin, this.#elementLine);
  }

  #takeElement(): Element {
    const [first, ...others] = this.#pieces;
    const bytes = first !== undefined && others.length === 0 ? first : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#piecesBytes = 0;
    return { bytes, line: this.#elementLine, column: this.#elementColumn };
  }

  #newLine(index: number): void {
    this.#line++;
    this.#lineStart = this.#offset + index + 1;
  }

  #invalid(problem: string, hint: string, line = this.#line): RedriveError {
    return invalidInput(this.#origin, { line }, problem, { hint });
  }
}

const EXPECT_ARRAY_HINT =
  "Put the values into [ ]. If every line is a separate JSON value, use the format jsonl; if the array is in a " +
  "field, extract it first, e.g. with: jq .items FILE.";

const MORE_AFTER_ARRAY = "invalid JSON: there is more after the end of the array";
const ONE_ARRAY_HINT =
  "Only one array is allowed. If every line is a separate JSON value, use the format jsonl.";
