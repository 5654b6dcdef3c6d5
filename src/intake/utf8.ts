/** Bytes to text. Bytes that are not UTF-8 are an error: replaced, two different names could become one item. */
import { isAscii } from "node:buffer";
import type { WorkError } from "../errors.ts";
import { invalidInput, type Origin } from "./origin.ts";

/** The text of bytes that are known to be UTF-8. */
export function decodeUtf8(bytes: Buffer): string {
  // Latin-1 is a plain copy, several times faster than UTF-8, and the same for ASCII.
  return bytes.toString(isAscii(bytes) ? "latin1" : "utf8");
}

/** The error for bytes that are not UTF-8. */
export function notUtf8(origin: Origin, line: number): WorkError {
  return invalidInput(origin, { line }, "not valid UTF-8", {
    hint: mayNameFiles(origin)
      ? "Rename files whose names are not UTF-8 (convmv does it), or convert the text: iconv -f LATIN1 -t UTF-8."
      : "Convert the input first: iconv -f LATIN1 -t UTF-8.",
  });
}

function mayNameFiles({ format }: Origin): boolean {
  return format === "null" || format === "lines";
}
