/**
 * What a command says besides its output and its exit code, through files that its environment names: the result of its
 * work as JSON, and notes, one a line. A file that cannot be used never changes how the attempt ended: a note says so.
 */
import { readFileSync, rmSync, statSync } from "node:fs";
import type { Outcome } from "../item/outcome.ts";
import type { Json } from "../kit/json.ts";
import type { AttemptContext } from "./handler.ts";

/** Paths of one attempt alone, so that one that an earlier attempt left is not taken for it. */
export interface ReportFiles {
  readonly resultFile: string;
  readonly notesFile: string;
}

export function reportFilesOf(prefix: string): ReportFiles {
  return { resultFile: `${prefix}.result.json`, notesFile: `${prefix}.notes` };
}

const RESULT_BYTES_MAX = 1024 * 1024;
const NOTES_BYTES_MAX = 256 * 1024;

/** Reads and removes both. Only a success has a result; notes are kept whatever the outcome. */
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

/** Null when there is none: most commands write neither. */
function take(path: string, bytesMax: number): Taken | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  try {
    if (!found.isFile()) return { problem: "it is no plain file" };
    if (found.size > bytesMax)
      return { problem: `it has ${found.size} bytes, and at most ${bytesMax} are read` };
    return { text: readFileSync(path, "utf8") };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

function parse(text: string): { value: Json; problem?: undefined } | { problem: string } {
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return { problem: "it is not valid JSON" };
  }
}
