/**
 * Finds the elements of a top-level JSON array in bytes that arrive in pieces. It counts brackets and skips strings;
 * whether an element is valid JSON is for the parser to say.
 */
import type { WorkError } from "../errors.ts";
import { BYTE, isMark, JSON_SPACE } from "./json-bytes.ts";
import { invalidInput, type Origin, RECORD_BYTES_MAX, recordTooLong } from "./origin.ts";

/** The bytes of one element, and where it starts. */
export interface Element {
  readonly bytes: Buffer;
  readonly line: number;
  /** Counted in bytes. */
  readonly column: number;
}

/** What may come next: the array, its first value or its end, a value, the rest of one, nothing. */
type State = "array" | "first" | "value" | "inside" | "nothing";

export class ArrayScanner {
  readonly #origin: Origin;
  readonly #onRest: ((bytes: Buffer) => void) | undefined;
  #state: State = "array";
  /** Bytes that were seen in chunks before this one. */
  #offset = 0;
  #line = 1;
  #lineStart = 0;
  // The element that is open.
  #pieces: Buffer[] = [];
  #piecesBytes = 0;
  #elementLine = 1;
  #elementColumn = 1;
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** `onRest` is given what follows the array, from its first byte that is not white space; without it that is an error. */
  constructor(origin: Origin, onRest?: (bytes: Buffer) => void) {
    this.#origin = origin;
    this.#onRest = onRest;
  }

  /** The elements that these bytes complete. It must be used up before the next bytes come. */
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

  /** Says that no more bytes come. Throws when the array is not complete. */
  end(): void {
    if (this.#state === "nothing" || this.#state === "array") return;
    const [what, line] =
      this.#state === "inside" ? ["this element", this.#elementLine] : ["the array", this.#line];
    throw this.#invalid(
      `invalid JSON: the input ends inside ${what}`,
      "It may be cut off: write it again, or close the array with ].",
      line,
    );
  }

  /** Passes white space and what stands between elements. The index of an element's first byte, or the length. */
  #toNextElement(chunk: Buffer, from: number): number {
    for (let index = from; index < chunk.length; index++) {
      const byte = chunk[index] ?? 0;
      if (byte === BYTE.lineFeed) this.#newLine(index);
      if (JSON_SPACE.has(byte) || isMark(byte, this.#offset + index)) continue;
      if (this.#state === "nothing") {
        if (this.#onRest === undefined) throw this.#moreAfterArray();
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
    if (byte !== BYTE.openArray) {
      const found = byte === BYTE.openObject ? "an object" : "something else";
      throw this.#invalid(
        `expected a JSON array, which starts with [, but found ${found}`,
        EXPECT_ARRAY_HINT,
      );
    }
    this.#state = "first";
  }

  #closeArray(): void {
    if (this.#state === "value") {
      throw this.#invalid("invalid JSON: a comma in front of the end of the array", "Remove the comma.");
    }
    this.#state = "nothing";
  }

  #openElement(byte: number, index: number): void {
    if (byte === BYTE.comma) {
      throw this.#invalid("invalid JSON: a value is missing in front of a comma", "Remove the comma.");
    }
    this.#state = "inside";
    this.#elementLine = this.#line;
    this.#elementColumn = this.#offset + index - this.#lineStart + 1;
    this.#depth = 0;
  }

  /** The index of the comma or bracket that ends the element, or the length when it goes on. The hot loop. */
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

  #moreAfterArray(): WorkError {
    return this.#invalid(
      "invalid JSON: there is more after the end of the array",
      "One array may be there. If every line is a JSON value of its own, the format is jsonl.",
    );
  }

  #invalid(problem: string, hint: string, line = this.#line): WorkError {
    return invalidInput(this.#origin, { line }, problem, { hint });
  }
}

const EXPECT_ARRAY_HINT =
  "Put the values into [ ]. If every line is a JSON value of its own, the format is jsonl; if the array is in a " +
  "field, take it out first, e.g. with: jq .items FILE.";
