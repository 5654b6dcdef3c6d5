/**
 * A JSON array of any size: its elements are cut out of the stream one by one and parsed on their own, so that memory
 * depends on the largest element and not on the array. `array-scanner.ts` finds where they end.
 */
import { isUtf8 } from "node:buffer";
import { ArrayScanner, type Element } from "./array-scanner.ts";
import type { Origin } from "./origin.ts";
import { parseJson } from "./parse-json.ts";
import type { IntakeRecord } from "./record.ts";
import { decodeUtf8, notUtf8 } from "./utf8.ts";

/** Reads the elements of one top-level array. An input of nothing but white space has no items. */
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
    if (!isUtf8(bytes)) throw notUtf8(origin, line);
    yield { data: parseJson(decodeUtf8(bytes), origin, { line, column }), line };
  }
}
