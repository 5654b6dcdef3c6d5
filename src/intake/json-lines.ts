/** JSON Lines: every line is a JSON value and an item. Blank lines are skipped. */
import { linesOf } from "./lines.ts";
import type { Origin } from "./origin.ts";
import { parseJson } from "./parse-json.ts";
import type { IntakeRecord } from "./record.ts";
import { type LineBlock, wholeLines } from "./whole-lines.ts";

/** Reads one JSON value per line. */
export async function* readJsonLines(
  chunks: AsyncIterable<Buffer>,
  origin: Origin,
): AsyncGenerator<Iterable<IntakeRecord>> {
  for await (const block of wholeLines(chunks, origin, 0x0a)) yield valuesOf(block, origin);
}

function* valuesOf(block: LineBlock, origin: Origin): Generator<IntakeRecord> {
  for (const { data: text, line } of linesOf(block)) {
    if (text.trim() !== "") yield { data: parseJson(text, origin, { line, column: 1 }), line };
  }
}
