/** What a process receives through its environment, and the files through which it returns a result and notes. */
import { readFileSync, rmSync, statSync } from "node:fs";
import type { Outcome } from "../item/settlement.ts";
import { asText, type Json, parseJson } from "../std/json.ts";
import type { AttemptContext } from "./handler.ts";

export interface ItemEnvironment {
  readonly item?: Json | undefined;
  readonly itemId?: string | undefined;
  readonly attempt: number;
  readonly jobId?: string | undefined;
  readonly queue?: string | undefined;
  /** The file for a failure report, as JSON. */
  readonly failureFile: string;
  /** The files for its result and notes. Steps of workflows have none. */
  readonly reports?: ReportFiles;
}

/** The limit of a variable or argument on Linux. */
const VARIABLE_BYTES_MAX = 120_000;

/** Leaves out an item that does not fit into a variable. */
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

/** Each attempt has its own paths, so that leftovers of an earlier attempt are not read. */
export interface ReportFiles {
  readonly resultFile: string;
  readonly notesFile: string;
}

export function reportFilesOf(prefix: string): ReportFiles {
  return { resultFile: `${prefix}.result.json`, notesFile: `${prefix}.notes` };
}

const RESULT_BYTES_MAX = 1024 * 1024;
const NOTES_BYTES_MAX = 256 * 1024;

/** Reads and removes both files. Only a success has a result; notes are always kept. */
export function withReports(outcome: Outcome, files: ReportFiles, { note }: AttemptContext): Outcome {
  const notes = take(files.notesFile, NOTES_BYTES_MAX);
  if (notes?.problem !== undefined) note(`The notes of the command cannot be used: ${notes.problem}.`);
  for (const line of notes?.text?.split("\n") ?? []) note(line);
  const result = take(files.resultFile, RESULT_BYTES_MAX);
  if (result === null || outcome.kind !== "succeeded") return outcome;
  const read = result.text === undefined ? result : parse(result.text);
  if (read.problem === undefined) return { ...outcome, result: (read as { value: Json }).value };
  note(`The result of the command cannot be used: ${read.problem}.`);
  return outcome;
}

interface Taken {
  readonly text?: string;
  readonly problem?: string;
}

function take(path: string, bytesMax: number): Taken | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  try {
    if (!found.isFile()) return { problem: "it is not a regular file" };
    if (found.size > bytesMax) return { problem: `it has ${found.size} bytes; the limit is ${bytesMax}` };
    return { text: readFileSync(path, "utf8") };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

function parse(text: string): { value: Json; problem?: undefined } | { problem: string } {
  try {
    return { value: parseJson(text) as Json };
  } catch {
    return { problem: "it is not valid JSON" };
  }
}
