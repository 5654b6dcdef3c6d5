/** What a process gets to know of its item through its environment: one list for maps and workflows. */
import { asText, type Json } from "../kit/json.ts";
import type { ReportFiles } from "./command-reports.ts";

export interface ItemEnvironment {
  readonly item?: Json | undefined;
  readonly itemId?: string | undefined;
  readonly attempt: number;
  readonly jobId?: string | undefined;
  readonly queue?: string | undefined;
  /** Where the process may write a report of its failure, as JSON. */
  readonly failureFile: string;
  /** Where it may write its result and its notes; a step of a workflow has neither. */
  readonly reports?: ReportFiles;
}

/** More than this does not fit into one variable or argument on Linux. */
const VARIABLE_BYTES_MAX = 120_000;

/** An item that does not fit into a variable is left out. */
export function itemEnvironment(known: ItemEnvironment): Record<string, string> {
  const text = known.item === undefined ? undefined : asText(known.item);
  return {
    ...(text !== undefined && fits(text) && { REDRIVE_ITEM: text }),
    ...(known.itemId !== undefined && { REDRIVE_ITEM_ID: known.itemId }),
    REDRIVE_ATTEMPT: String(known.attempt),
    ...(known.jobId !== undefined && { REDRIVE_JOB_ID: known.jobId }),
    ...(known.queue !== undefined && { REDRIVE_QUEUE: known.queue }),
    REDRIVE_FAILURE_FILE: known.failureFile,
    ...(known.reports && {
      REDRIVE_RESULT_FILE: known.reports.resultFile,
      REDRIVE_NOTES_FILE: known.reports.notesFile,
    }),
  };
}

function fits(text: string): boolean {
  return (
    text.length < VARIABLE_BYTES_MAX && Buffer.byteLength(text) < VARIABLE_BYTES_MAX && !text.includes("\0")
  );
}
