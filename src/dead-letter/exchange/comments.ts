/**
 * Comments in JSON, as documents print them: `//` up to the end of a line and lines that begin with `#`. They are
 * replaced by spaces as the bytes come, so that places in the file stay right. Strings are never touched.
 */
import { BYTE, skipMark, skipSpace } from "../../intake/json-bytes.ts";

const SLASH = 0x2f;
const HASH = 0x23;
const SPACE = 0x20;
const TAB = 0x09;
const RETURN = 0x0d;

/** The stream without its comments; one that is no JSON is passed on as it is. */
export async function* withoutComments(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let blanker: CommentBlanker | null | undefined;
  for await (const chunk of chunks) {
    if (blanker === undefined) blanker = startsLikeJson(chunk) ? new CommentBlanker() : null;
    if (blanker === null) yield chunk;
    else yield* blanker.push(chunk);
  }
  if (blanker) yield* blanker.end();
}

/** The same for bytes that are all there. */
export function blankComments(bytes: Buffer): Buffer {
  if (!startsLikeJson(bytes)) return bytes;
  const blanker = new CommentBlanker();
  return Buffer.concat([...blanker.push(bytes), ...blanker.end()]);
}

function startsLikeJson(bytes: Buffer): boolean {
  const first = bytes[skipSpace(bytes, skipMark(bytes))];
  return first === BYTE.openObject || first === BYTE.openArray || first === SLASH || first === HASH;
}

/** Where it is in the text: in a string, in a comment, or between. */
class CommentBlanker {
  #state: "plain" | "string" | "comment" = "plain";
  #isEscaped = false;
  #isLineStart = true;
  /** A slash at the end of a chunk, which the next one may make a comment of. */
  #slash: Buffer | null = null;

  /** Nothing is copied unless it has a comment. */
  push(given: Buffer): readonly Buffer[] {
    const chunk = this.#slash === null ? given : Buffer.concat([this.#slash, given]);
    this.#slash = null;
    let copy: Buffer | null = null;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] ?? 0;
      if (this.#state === "string") this.#inString(byte);
      else if (byte === BYTE.lineFeed) [this.#state, this.#isLineStart] = ["plain", true];
      else if (this.#state === "comment" || this.#opensComment(byte, chunk, index)) {
        if (byte === SLASH && this.#state === "plain" && index + 1 === chunk.length) {
          this.#slash = Buffer.from([SLASH]);
          return [(copy ?? chunk).subarray(0, index)];
        }
        this.#state = "comment";
        copy ??= Buffer.from(chunk);
        copy[index] = SPACE;
      } else this.#between(byte);
    }
    return [copy ?? chunk];
  }

  end(): readonly Buffer[] {
    return this.#slash === null ? [] : [this.#slash];
  }

  #inString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BYTE.backslash) this.#isEscaped = true;
    else if (byte === BYTE.quote) this.#state = "plain";
  }

  #between(byte: number): void {
    if (byte === BYTE.quote) this.#state = "string";
    if (byte !== SPACE && byte !== TAB && byte !== RETURN) this.#isLineStart = false;
  }

  #opensComment(byte: number, chunk: Buffer, index: number): boolean {
    if (byte === HASH) return this.#isLineStart;
    return byte === SLASH && (index + 1 === chunk.length || chunk[index + 1] === SLASH);
  }
}
