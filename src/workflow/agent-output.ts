/** Keeps the JSON log of an agent, without secrets, and hears what it says. */
import { mkdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import type { Output } from "../attempt/output.ts";
import { chunksOf, type Piece } from "../attempt/output-log.ts";
import { LOG_BYTES_MAX } from "../attempt/output-watch.ts";
import { PRIVATE_FOLDER } from "../kit/private-files.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import { describeThrown } from "../retry/thrown.ts";
import { readAgentLog } from "./agent-log.ts";
import { agentReport } from "./agent-report.ts";
import { addUsage } from "./agent-usage.ts";
import type { At } from "./step-run.ts";

export interface AgentOutput {
  /** What it answered; absent when the log has no answer. */
  readonly answer?: string | undefined;
  /** What its log says of a failure. */
  readonly report?: ReportedFailure | undefined;
  /** For the log of the attempt. */
  readonly titles: readonly string[];
}

/** The log is at `run.jsonLog` then, and what the agent used is added to the run. */
export async function keepAgentLog(at: At, stdout: Output, exitCode: number | null): Promise<AgentOutput> {
  const { run } = at;
  if (stdout.bytes === 0) return { titles: [] };
  const { head, tail, droppedNote } = stdout.forLog(LOG_BYTES_MAX);
  const summary = readAgentLog(chunksOfAll([...head, ...tail]));
  if (summary.usage) run.usage = addUsage(run.usage, summary.usage);
  const titles = await writeJsonLog(at, { head, tail, droppedNote });
  const report = agentReport(summary, exitCode !== 0, run.world.clock.now());
  return { answer: summary.answer, report, titles };
}

interface Parts {
  readonly head: readonly Piece[];
  readonly tail: readonly Piece[];
  readonly droppedNote: string | undefined;
}

/** A log that cannot be written is no reason to lose the result. */
async function writeJsonLog(at: At, parts: Parts): Promise<readonly string[]> {
  const { run } = at;
  const path = jsonLogPath(at);
  try {
    await copyMasked(at, parts, path);
    run.jsonLog = path;
    return [`json log: ${path}`];
  } catch (error) {
    return [`the json log could not be written: ${describeThrown(error).message}`];
  }
}

async function copyMasked({ run }: At, { head, tail, droppedNote }: Parts, path: string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER });
  const isCut = droppedNote !== undefined;
  const note = isCut ? [Buffer.from(`\n${JSON.stringify({ type: "redrive", note: droppedNote })}\n`)] : [];
  const file = await open(path, "a", 0o600);
  try {
    for (const part of [
      run.maskChunk(chunksOfAll(head), { cutBefore: false, cutAfter: isCut }),
      note,
      run.maskChunk(chunksOfAll(tail), { cutBefore: isCut, cutAfter: false }),
    ]) {
      for (const chunk of part) await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
}

/** Beside the log of the attempt: `3.log` has `3.2.jsonl` for its second step. */
function jsonLogPath({ run, path }: At): string {
  const place = path.map((name) => name.replace(/^step /, "").replaceAll(/[^\w]+/g, "-")).join("-");
  return `${run.world.logPath.replace(/\.log$/, "")}.${place}.jsonl`;
}

function* chunksOfAll(pieces: readonly Piece[]): Generator<Buffer> {
  for (const piece of pieces) yield* chunksOf(piece);
}
