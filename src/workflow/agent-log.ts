/** Reads the JSON lines that the `claude` command writes, keeps them without secrets, and classifies the agent's failure. */
import { mkdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { chunksOfAll, type LogStream, type Output } from "../attempt/output.ts";
import { LOG_BYTES_MAX } from "../attempt/output-watch.ts";
import type { ErrorTypeName } from "../item/error-type.ts";
import { clampDelayMs } from "../retry/backoff.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import { describeThrown } from "../retry/thrown.ts";
import { PRIVATE_FOLDER } from "../std/files.ts";
import { compact, isJsonObject, type JsonObject, reader } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";
import type { AgentUsage, At } from "./step-context.ts";

/** Writes the agent's masked output to the JSON log, sets `run.jsonLog` and adds the usage to the run. */
export async function keepAgentLog(at: At, stdout: Output, exitCode: number | null) {
  const { run } = at;
  if (stdout.bytes === 0) return { titles: [] };
  const stream = stdout.forLog(LOG_BYTES_MAX);
  const summary = readAgentLog(chunksOfAll([...stream.head, ...stream.tail]));
  if (summary.usage) run.usage = addUsage(run.usage, summary.usage);
  const titles = [await writeJsonLog(at, stream)];
  const report = agentReport(summary, exitCode !== 0, run.context.clock.now());
  return { answer: summary.answer, report, titles };
}

/** Returns the log title. A write error becomes the title instead of being thrown, so that the step keeps its result. */
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

/** The JSON log is stored beside the attempt's log: `3.log` has `3.2.jsonl` for its second step. */
function jsonLogPath({ run, path }: At): string {
  const stepPath = path.map((name) => name.replace(/^step /, "").replaceAll(/[^\w]+/g, "-")).join("-");
  return `${run.context.logPath.replace(/\.log$/, "")}.${stepPath}.jsonl`;
}

interface AgentSummary {
  readonly answer?: string;
  readonly usage?: AgentUsage;
  readonly error?: AgentError;
  /** Set when the account's limit rejected a request. `endsAt` is in milliseconds since the epoch. */
  readonly limit?: { readonly endsAt?: number };
}

interface AgentError {
  readonly message: string;
  /** The kind as written in the log, e.g. `rate_limit` or `overloaded_error`. */
  readonly kind?: string;
  readonly httpStatus?: number;
}

export function readAgentLog(chunks: Iterable<Buffer>): AgentSummary {
  const log = new AgentLog();
  for (const line of messageLines(chunks)) {
    const message = parseObject(line);
    if (message) log.add(message);
  }
  return log.summary();
}

class AgentLog {
  #model: string | undefined;
  #text: string | undefined;
  #kind: string | undefined;
  #result: JsonObject | undefined;
  #streamError: AgentError | undefined;
  #limit: { endsAt?: number } | undefined;
  /** Keyed by message id: a message with several parts spans several lines, and each line has the usage so far. */
  readonly #usages = new Map<string, AgentUsage>();

  add(message: JsonObject): void {
    const read = reader(message);
    switch (message.type) {
      case "system":
        this.#model ??= read.text("model");
        return;
      case "assistant":
        this.#kind = read.text("error") ?? this.#kind;
        this.#addAssistant(read.object("message") ?? {});
        return;
      case "rate_limit_event":
        this.#addLimit(reader(read.object("rate_limit_info") ?? {}));
        return;
      case "error":
        this.#streamError = errorOf(read.object("error") ?? message);
        return;
      case "result":
        this.#result = message;
        return;
    }
  }

  summary(): AgentSummary {
    const text = this.#result && reader(this.#result).text("result");
    return compact({
      answer: text || this.#text || text,
      usage: this.#usage(),
      error: this.#error(),
      limit: this.#limit,
    });
  }

  #addAssistant(message: JsonObject): void {
    const read = reader(message);
    const model = read.text("model");
    // Answers that did not come from a model, such as the text of an API error, have a model name like
    // `<synthetic>`.
    if (model !== undefined && !model.startsWith("<")) this.#model = model;
    const parts = (read.list("content") ?? []).filter(isJsonObject);
    const text = parts.map((part) => reader(part).text("text") ?? "").join("");
    if (text.trim() !== "") this.#text = text;
    const id = read.text("id") ?? `line ${this.#usages.size}`;
    this.#usages.set(id, tokensOf(read.object("usage")));
  }

  #addLimit(info: ReturnType<typeof reader>): void {
    const status = info.text("status") ?? "allowed";
    if (status.startsWith("allowed")) return;
    const endsAt = info.number("resetsAt");
    this.#limit = endsAt === undefined ? {} : { endsAt: epochMs(endsAt) };
  }

  #usage(): AgentUsage | undefined {
    const result = this.#result && reader(this.#result);
    const counted = result?.object("usage");
    const tokens = counted ? tokensOf(counted) : [...this.#usages.values()].reduce(addUsage, {});
    const model = this.#model ?? Object.keys(result?.object("modelUsage") ?? {})[0];
    const usage = compact({ model, costUsd: result?.number("total_cost_usd"), ...tokens });
    return Object.keys(usage).length === 0 ? undefined : usage;
  }

  #error(): AgentError | undefined {
    if (!this.#result) return this.#streamError;
    const read = reader(this.#result);
    const subtype = read.text("subtype") ?? "";
    if (read.flag("is_error") !== true && !subtype.startsWith("error")) return undefined;
    const said = read.text("result") || read.texts("errors")?.join("; ") || this.#text || subtype;
    return compact({
      message: said || "the agent ended with an error",
      kind: this.#kind ?? this.#streamError?.kind,
      httpStatus: read.number("api_error_status") ?? this.#streamError?.httpStatus,
    });
  }
}

function errorOf(error: JsonObject): AgentError {
  const read = reader(error);
  const message = read.text("message") || "the agent reported an error";
  return compact({ message, kind: read.text("type"), httpStatus: read.number("status") });
}

/** Cached tokens count as input too. */
function tokensOf(usage: JsonObject | undefined): AgentUsage {
  if (!usage) return {};
  const read = reader(usage);
  const inputs = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
    .map((key) => read.number(key))
    .filter((count) => count !== undefined);
  return compact({
    inputTokens: inputs.length === 0 ? undefined : inputs.reduce((sum, count) => sum + count, 0),
    outputTokens: read.number("output_tokens"),
  });
}

/** The log uses seconds; values that are too large for seconds are already milliseconds. */
function epochMs(time: number): number {
  return time < 1e11 ? time * 1000 : time;
}

export function parseObject(line: string): JsonObject | undefined {
  const json: unknown = tryTo(() => JSON.parse(line));
  return isJsonObject(json) ? json : undefined;
}

/** Longer lines are skipped and not held in memory. */
const LINE_BYTES_MAX = 32 * 1024 * 1024;
const LINE_END = 10;
const MESSAGE_START = "{".charCodeAt(0);

/** Yields the lines that begin with `{`. Other lines are not buffered. */
function* messageLines(chunks: Iterable<Buffer>): Generator<string> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let isMessage: boolean | undefined; // unknown at the start of a line
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      isMessage ??= chunk[at] === MESSAGE_START;
      const end = chunk.indexOf(LINE_END, at);
      const part = chunk.subarray(at, end < 0 ? chunk.length : end);
      heldBytes += part.length;
      if (heldBytes > LINE_BYTES_MAX) isMessage = false;
      if (isMessage)
        held.push(end < 0 ? Buffer.from(part) : part); // copied, because the chunk's buffer is reused
      else held = [];
      if (end < 0) break;
      if (isMessage) yield Buffer.concat(held).toString("utf8");
      [held, heldBytes, isMessage] = [[], 0, undefined];
      at = end + 1;
    }
  }
  if (isMessage) yield Buffer.concat(held).toString("utf8");
}

function addUsage(sum: AgentUsage | undefined, more: AgentUsage): AgentUsage {
  const plus = (key: "costUsd" | "inputTokens" | "outputTokens") =>
    sum?.[key] === undefined ? more[key] : sum[key] + (more[key] ?? 0);
  return compact({
    model: more.model ?? sum?.model,
    costUsd: plus("costUsd"),
    inputTokens: plus("inputTokens"),
    outputTokens: plus("outputTokens"),
  });
}

/** Formats one line for people. Returns null for messages to hide; a line that is not JSON is returned unchanged. */
export function agentLine(line: string): string | null {
  const message = parseObject(line);
  if (message === undefined) return line;
  if (message.type !== "assistant") return null;
  const content = reader(message).object("message")?.content;
  const parts = Array.isArray(content) ? content.filter(isJsonObject).flatMap(partText) : [];
  return parts.length === 0 ? null : parts.join("\n");
}

function partText(part: JsonObject): string[] {
  const read = reader(part);
  if (part.type === "text") return [read.text("text") ?? ""];
  const isTool = part.type === "tool_use";
  return isTool ? [`[${read.text("name") ?? "tool"}] ${JSON.stringify(part.input ?? {})}`] : [];
}

/** Turns the agent's error or limit into a reported failure. A limit is ignored when the agent succeeded anyway. */
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
    message: error?.message ?? "the agent has reached its limit",
    retryAfterMs: endsAt === undefined ? undefined : clampDelayMs(endsAt - now),
  });
}

function typeOf(error: AgentError | undefined): ErrorTypeName {
  const { kind = "", httpStatus, message = "" } = error ?? {};
  return TYPE_OF_KIND[kind.replace(/_error$/, "")] ?? typeOfStatus(httpStatus) ?? typeOfText(message);
}

const TYPE_OF_KIND: Readonly<Record<string, ErrorTypeName>> = {
  ...{ rate_limit: "RateLimited", overloaded: "RateLimited", server: "ServerError", api: "ServerError" },
  ...{ authentication: "PermissionError", authentication_failed: "PermissionError" },
  ...{ permission: "PermissionError", billing: "PermissionError" },
};

function typeOfStatus(status: number | undefined): ErrorTypeName | undefined {
  if (status === 429 || status === 529) return "RateLimited";
  if (status === 401 || status === 403) return "PermissionError";
  return status !== undefined && status >= 500 ? "ServerError" : undefined;
}

/** API errors contain their status and JSON. Account limits can only be recognized by their wording. */
function typeOfText(text: string): ErrorTypeName {
  const quoted = /"type"\s*:\s*"([a-z_]+)_error"/.exec(text)?.[1];
  const status = /\bAPI Error:?\s*\(?(\d{3})\b/.exec(text)?.[1];
  const known = TYPE_OF_KIND[quoted ?? ""] ?? typeOfStatus(status === undefined ? undefined : Number(status));
  const isLimit = /\b(?:usage|rate|session|weekly) limit\b|hit your limit|\boverloaded\b/i.test(text);
  return known ?? (isLimit ? "RateLimited" : "CommandFailed");
}

/** `… limit reached|1760000000` contains the time at which the limit ends, in seconds. */
function endOfLimit(text: string): number | undefined {
  const time = /limit reached\s*\|\s*(\d{10,13})\b/i.exec(text)?.[1];
  return time === undefined ? undefined : epochMs(Number(time));
}
