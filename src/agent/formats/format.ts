/** The contract of a stream format: how its first line is recognized, and how its lines update the record. */
import type { JsonObject } from "../../std/json.ts";
import type { AgentRecord, SessionTotals } from "../agent-record.ts";

export interface AgentFormat {
  readonly name: string;
  /** Whether a stream of this format begins with such a message. */
  isOpening(message: JsonObject): boolean;
  open(record: AgentRecord): FormatReader;
}

export interface FormatReader {
  /** Processes a message. Unknown messages are ignored, because formats may be extended. */
  add(message: JsonObject): void;
  /** Updates the totals in the record, without the usage of the session `before` this run. */
  settle?(before: SessionTotals | undefined): void;
}

/** The part of a total that belongs to this run. A total that is smaller than before belongs to a new session. */
export function since(total: number | undefined, before: number | undefined): number | undefined {
  return total === undefined || before === undefined || total < before ? total : total - before;
}
