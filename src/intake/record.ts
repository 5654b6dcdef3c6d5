/** What every format's reader makes: records, in runs that can be taken without waiting. */
import type { Json } from "../kit/json.ts";
import type { Origin } from "./origin.ts";

export interface IntakeRecord {
  readonly data: Json;
  /** The line it starts on, from 1; for NUL-separated input the number of the record. */
  readonly line: number;
}

/**
 * Turns bytes into runs of records: one run for what the bytes read so far complete. A run is lazy, and throws in the
 * place of the record that is wrong, so that the ones before it are not lost.
 */
export type RecordReader = (
  chunks: AsyncIterable<Buffer>,
  origin: Origin,
) => AsyncIterable<Iterable<IntakeRecord>>;
