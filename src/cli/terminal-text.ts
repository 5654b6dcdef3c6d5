/** Other people's output on a terminal: lines and tabs stay, everything else that a terminal would obey becomes visible. */
import { Transform, type TransformCallback } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { clean } from "./paint.ts";

/** The text with its lines and tabs, and without control characters. */
export function cleanLines(text: string): string {
  return text.replace(/[^\n\t]+/g, (part) => clean(part.replace(/\r$/, "")));
}

/** The same for bytes as they come; a character may be cut between two pieces. */
export class CleanLines extends Transform {
  readonly #decoder = new StringDecoder("utf8");

  override _transform(bytes: Buffer, _encoding: string, done: TransformCallback): void {
    done(null, cleanLines(this.#decoder.write(bytes)));
  }

  override _flush(done: TransformCallback): void {
    done(null, cleanLines(this.#decoder.end()));
  }
}
