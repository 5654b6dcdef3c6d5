/**
 * Signatures of anybody's lines, to try the grouping on. An input is JSON Lines with `text`, or plain lines; each line is
 * decided by itself, so that the answer to a line never depends on the others. Nothing of the input is refused.
 */
import { StringDecoder } from "node:string_decoder";
import { isJsonObject, type Json } from "../kit/json.ts";
import { type Signature, signatureOf } from "./signature.ts";

/** Of a longer line only the beginning is kept. */
const LINE_CHARS_MAX = 1024 * 1024;
const BYTE_ORDER_MARK = "\ufeff";

/** The signatures of the lines, one for each, in their order; those of a chunk together. */
export async function* previewLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly Signature[]> {
  const decoder = new StringDecoder("utf8"); // what is no UTF-8 becomes U+FFFD
  let open = "";
  let isFirst = true;
  for await (const chunk of chunks) {
    let text = decoder.write(chunk);
    if (isFirst && text.startsWith(BYTE_ORDER_MARK)) text = text.slice(1);
    isFirst &&= text === "";
    const lines = text.split("\n");
    lines[0] = joined(open, lines[0] ?? "");
    open = lines.pop() ?? "";
    if (lines.length > 0) yield lines.map(previewLine);
  }
  const rest = joined(open, decoder.end());
  if (rest !== "") yield [previewLine(rest)];
}

/** A line without an end does not grow without bound. */
function joined(open: string, more: string): string {
  return open.length >= LINE_CHARS_MAX ? open : open + more.slice(0, LINE_CHARS_MAX - open.length);
}

function previewLine(line: string): Signature {
  return previewText(textOf(line.endsWith("\r") ? line.slice(0, -1) : line));
}

/** The `text` of a JSON object, or the line as it is. */
function textOf(line: string): string {
  if (!line.startsWith("{")) return line;
  const object = parsed(line);
  return isJsonObject(object) && typeof object.text === "string" ? object.text : line;
}

function parsed(line: string): Json {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return null; // a plain line that begins with a brace
  }
}

/** The signature of a text as if a command had failed with it: one line is its message, several are its output. */
export function previewText(text: string): Signature {
  const errorType = { name: "Unknown" } as const;
  if (!text.trimEnd().includes("\n")) return signatureOf({ errorType, errorMessage: text });
  return signatureOf({ errorType, errorMessage: "", stderrTail: text });
}
