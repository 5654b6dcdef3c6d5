/**
 * Computes signatures for text lines, or for `text` fields in JSON Lines, so that people can test the
 * grouping.
 */
import { StringDecoder } from "node:string_decoder";
import { isJsonObject, type Json } from "../std/json.ts";
import { type Signature, signatureOf } from "./signature.ts";

const LINE_CHARS_MAX = 1024 * 1024;
const BYTE_ORDER_MARK = "\ufeff";

/** Yields one signature per line, in order, one array per chunk. */
export async function* previewLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly Signature[]> {
  const decoder = new StringDecoder("utf8"); // invalid UTF-8 becomes U+FFFD
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

/** Appends to an unfinished line up to the limit. */
function joined(open: string, more: string): string {
  return open.length >= LINE_CHARS_MAX ? open : open + more.slice(0, LINE_CHARS_MAX - open.length);
}

function previewLine(line: string): Signature {
  return previewText(textOf(line.endsWith("\r") ? line.slice(0, -1) : line));
}

/** Returns the `text` field of a JSON object, or the line itself. */
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

/** Computes the signature as if a command had failed: one line is its message, several lines are its output. */
export function previewText(text: string): Signature {
  const errorType = { name: "Unknown" } as const;
  if (!text.trimEnd().includes("\n")) return signatureOf({ errorType, errorMessage: text });
  return signatureOf({ errorType, errorMessage: "", stderrTail: text });
}
