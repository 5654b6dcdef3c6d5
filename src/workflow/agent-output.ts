/** Writes the JSON log of an agent without secrets, and classifies the agent's failure from it. */
import { mkdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import type { Output } from "../attempt/output.ts";
import { chunksOf, type Piece } from "../attempt/output-log.ts";
import { LOG_BYTES_MAX } from "../attempt/output-watch.ts";
import type { ErrorTypeName } from "../item/error-type.ts";
import { clampDelayMs } from "../retry/backoff.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import { describeThrown } from "../retry/thrown.ts";
import { PRIVATE_FOLDER } from "../std/files.ts";
import { compact } from "../std/json.ts";
import { type AgentError, type AgentSummary, addUsage, epochMs, readAgentLog } from "./agent-log.ts";
import type { At } from "./step-context.ts";

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
  const report = agentReport(summary, exitCode !== 0, run.context.clock.now());
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
  return `${run.context.logPath.replace(/\.log$/, "")}.${place}.jsonl`;
}

function* chunksOfAll(pieces: readonly Piece[]): Generator<Buffer> {
  for (const piece of pieces) yield* chunksOf(piece);
}

/** As if the agent had reported it itself. A limit that was met on the way to a success is no failure. */
export function agentReport(
  { error, limit }: AgentSummary,
  hasFailed: boolean,
  now: number,
): ReportedFailure | undefined {
  if (!error && !(limit && hasFailed)) return undefined;
  const type = limit ? "RateLimited" : typeOf(error);
  const endsAt = limit?.endsAt ?? (type === "RateLimited" ? endOfLimit(error?.message ?? "") : undefined);
  return compact({
    type: { name: type },
    class: type === "RateLimited" ? "throttled" : undefined,
    message: error?.message ?? "the agent's limit is reached",
    retryAfterMs: endsAt === undefined ? undefined : clampDelayMs(endsAt - now),
  });
}

function typeOf(error: AgentError | undefined): ErrorTypeName {
  const { kind = "", httpStatus, message = "" } = error ?? {};
  return TYPE_OF_KIND[kind.replace(/_error$/, "")] ?? typeOfStatus(httpStatus) ?? typeOfText(message);
}

/** The names of errors in the log and in the API, without `_error`. */
const TYPE_OF_KIND: Readonly<Record<string, ErrorTypeName>> = {
  rate_limit: "RateLimited",
  overloaded: "RateLimited",
  authentication: "PermissionError",
  authentication_failed: "PermissionError",
  permission: "PermissionError",
  billing: "PermissionError",
  server: "ServerError",
  api: "ServerError",
};

function typeOfStatus(status: number | undefined): ErrorTypeName | undefined {
  if (status === 429 || status === 529) return "RateLimited";
  if (status === 401 || status === 403) return "PermissionError";
  return status !== undefined && status >= 500 ? "ServerError" : undefined;
}

/** An API error quotes its status and its JSON; a limit of the account is only said in words. */
function typeOfText(text: string): ErrorTypeName {
  const quoted = /"type"\s*:\s*"([a-z_]+)_error"/.exec(text)?.[1];
  const status = /\bAPI Error:?\s*\(?(\d{3})\b/.exec(text)?.[1];
  const known = TYPE_OF_KIND[quoted ?? ""] ?? typeOfStatus(status === undefined ? undefined : Number(status));
  if (known) return known;
  return /\b(?:usage|rate|session|weekly) limit\b|hit your limit|\boverloaded\b/i.test(text)
    ? "RateLimited"
    : "CommandFailed";
}

/** `… limit reached|1760000000` names the second at which it ends. */
function endOfLimit(text: string): number | undefined {
  const time = /limit reached\s*\|\s*(\d{10,13})\b/i.exec(text)?.[1];
  return time === undefined ? undefined : epochMs(Number(time));
}
