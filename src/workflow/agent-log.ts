/** Stores the JSON stream of an agent next to the log of its attempt, with secrets masked. */
import { mkdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { chunksOfAll, type LogStream, type Output } from "../attempt/output.ts";
import { LOG_BYTES_MAX } from "../attempt/output-watch.ts";
import { describeThrown } from "../retry/thrown.ts";
import { PRIVATE_FOLDER } from "../std/files.ts";
import type { At } from "./step-context.ts";

/** Writes the masked stream, sets `run.jsonLog` and returns titles for the attempt's log. */
export async function keepAgentLog(at: At, stdout: Output): Promise<readonly string[]> {
  return stdout.bytes === 0 ? [] : [await writeJsonLog(at, stdout.forLog(LOG_BYTES_MAX))];
}

/**
 * Returns the log title. A write error becomes the title instead of being thrown, so that the step's result
 * is preserved.
 */
async function writeJsonLog(at: At, stream: LogStream): Promise<string> {
  const { run } = at;
  const path = jsonLogPath(at);
  try {
    await copyMasked(at, stream, path);
    run.jsonLog = path;
    return `json log: ${path}`;
  } catch (error) {
    return `the json log could not be written: ${describeThrown(error).message}`;
  }
}

async function copyMasked({ run }: At, { head, tail, droppedNote }: LogStream, path: string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER });
  const isCut = droppedNote !== undefined;
  const note = isCut ? [Buffer.from(`\n${JSON.stringify({ type: "redrive", note: droppedNote })}\n`)] : [];
  const first = run.maskChunk(chunksOfAll(head), { cutBefore: false, cutAfter: isCut });
  const last = run.maskChunk(chunksOfAll(tail), { cutBefore: isCut, cutAfter: false });
  const file = await open(path, "a", 0o600);
  try {
    for (const part of [first, note, last]) for (const chunk of part) await file.writeFile(chunk);
  } finally {
    await file.close();
  }
}

/** The JSON log is stored next to the attempt's log: `3.log` has `3.2.jsonl` for its second step. */
function jsonLogPath({ run, path }: At): string {
  const stepPath = path.map((name) => name.replace(/^step /, "").replaceAll(/[^\w]+/g, "-")).join("-");
  return `${run.context.logPath.replace(/\.log$/, "")}.${stepPath}.jsonl`;
}
