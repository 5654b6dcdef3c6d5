/**
 * Claude Code: `claude --print --output-format stream-json --verbose`. Cost is reported only in the last line, `result`.
 * Until then, tokens are counted per message. Qwen Code prints the same lines without cost.
 */

import { type AgentTokens, addTokens, nanoUsd, usdOf } from "../../item/agent-usage.ts";
import { compact, isJsonObject, type JsonObject, reader } from "../../std/json.ts";
import type { AgentError, AgentRecord, SessionTotals } from "../agent-record.ts";
import { type AgentFormat, type FormatReader, since } from "./format.ts";

export const claudeFormat: AgentFormat = {
  name: "claude",
  isOpening: ({ type, subtype }) => type === "system" && subtype === "init",
  open: (record) => new ClaudeReader(record),
};

/** Lines of the same message are close together, even if subagents write in between. */
const MESSAGES_HELD_MAX = 64;

class ClaudeReader implements FormatReader {
  readonly #record: AgentRecord;
  /** The tokens of the latest messages by id, because each line of a message repeats its usage so far. */
  readonly #recent = new Map<string, AgentTokens>();
  #older: AgentTokens = {};
  #anonymous = 0;
  #turns = 0;
  #kind: string | undefined;
  #streamError: AgentError | undefined;
  #totals: SessionTotals | undefined;

  constructor(record: AgentRecord) {
    this.#record = record;
  }

  add(message: JsonObject): void {
    const read = reader(message);
    this.#record.begin(read.text("session_id"));
    switch (message.type) {
      case "system":
        if (message.subtype === undefined || message.subtype === "init")
          this.#record.model ??= read.text("model");
        return;
      case "assistant":
        this.#kind = read.text("error") ?? this.#kind;
        this.#addAssistant(read.object("message") ?? {}, read.text("parent_tool_use_id") === undefined);
        return;
      case "rate_limit_event":
        this.#addLimit(reader(read.object("rate_limit_info") ?? {}));
        return;
      case "error":
        this.#streamError = errorOf(read.object("error") ?? message);
        this.#record.error = this.#streamError;
        return;
      case "result":
        this.#addResult(message);
    }
  }

  settle(before: SessionTotals | undefined): void {
    const { costUsd, ...tokens } = this.#totals ?? {};
    const cost = since(nano(costUsd), nano(before?.costUsd));
    if (cost !== undefined) this.#record.costUsd = usdOf(cost);
    this.#record.tokens =
      Object.keys(tokens).length > 0
        ? (compact({
            inputTokens: since(tokens.inputTokens, before?.inputTokens),
            cachedTokens: since(tokens.cachedTokens, before?.cachedTokens),
            outputTokens: since(tokens.outputTokens, before?.outputTokens),
          }) as AgentTokens)
        : [...this.#recent.values()].reduce(addTokens, this.#older);
  }

  #addAssistant(message: JsonObject, isMain: boolean): void {
    const read = reader(message);
    const model = read.text("model");
    // Answers that do not come from a model, such as the text of an API error, have a model name like
    // `<synthetic>`.
    const isModel = model !== undefined && !model.startsWith("<");
    if (isModel && isMain) this.#record.model = model;
    const parts = (read.list("content") ?? []).filter(isJsonObject);
    if (isMain) this.#record.say(parts.map((part) => reader(part).text("text") ?? "").join(""));
    for (const part of parts) if (part.type === "tool_use") this.#addTool(part);
    const id = read.text("id") ?? `line ${this.#anonymous++}`;
    if (!this.#recent.has(id) && isMain && (model === undefined || isModel)) {
      this.#turns += 1;
      this.#record.turns = this.#turns;
    }
    this.#recent.set(id, tokensOf(read.object("usage")));
    this.#foldOldest();
  }

  #addTool(part: JsonObject): void {
    const read = reader(part);
    this.#record.act(read.text("name") ?? "tool", targetOf(read.object("input") ?? {}));
  }

  #foldOldest(): void {
    if (this.#recent.size <= MESSAGES_HELD_MAX) return;
    for (const [id, tokens] of this.#recent) {
      this.#older = addTokens(this.#older, tokens);
      this.#recent.delete(id);
      return;
    }
  }

  #addLimit(info: ReturnType<typeof reader>): void {
    const status = info.text("status") ?? "allowed";
    if (status.startsWith("allowed")) return;
    const endsAt = info.number("resetsAt");
    this.#record.limit = endsAt === undefined ? {} : { endsAt: epochMs(endsAt) };
  }

  #addResult(result: JsonObject): void {
    const read = reader(result);
    const models = read.object("modelUsage") ?? {};
    this.#record.model ??= Object.keys(models)[0];
    this.#record.turns = read.number("num_turns") ?? this.#record.turns;
    const tokens = tokensOfModels(models) ?? tokensOf(read.object("usage"));
    const totals = compact({ costUsd: read.number("total_cost_usd"), ...tokens });
    if (Object.keys(totals).length > 0) this.#totals = totals;
    const subtype = read.text("subtype") ?? "";
    const isError = read.flag("is_error") === true || subtype.startsWith("error");
    this.#record.error = isError ? this.#errorIn(result, subtype) : undefined;
    this.#record.conclude(isError ? "failed" : "success", read.text("result"));
  }

  #errorIn(result: JsonObject, subtype: string): AgentError {
    const read = reader(result);
    const text = read.text("result") || read.texts("errors")?.join("; ") || this.#record.lastText || subtype;
    return compact({
      message: text || "the agent ended with an error",
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

function tokensOf(usage: JsonObject | undefined): AgentTokens {
  if (!usage) return {};
  const read = reader(usage);
  return compact({
    inputTokens: sumOf(usage, ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]),
    cachedTokens: read.number("cache_read_input_tokens"),
    outputTokens: read.number("output_tokens"),
  });
}

/** The totals per model include subagents, which `usage` of the result does not. */
function tokensOfModels(models: JsonObject): AgentTokens | undefined {
  const each = Object.values(models).filter(isJsonObject);
  if (each.length === 0) return undefined;
  const total = (keys: readonly string[]) =>
    each.map((model) => sumOf(model, keys)).reduce((sum, more) => (sum ?? 0) + (more ?? 0), undefined);
  return compact({
    inputTokens: total(["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"]),
    cachedTokens: total(["cacheReadInputTokens"]),
    outputTokens: total(["outputTokens"]),
  }) as AgentTokens;
}

function sumOf(object: JsonObject, keys: readonly string[]): number | undefined {
  const counts = keys.map((key) => reader(object).number(key)).filter((count) => count !== undefined);
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
}

function nano(usd: number | undefined): number | undefined {
  return usd === undefined ? undefined : nanoUsd(usd);
}

const TARGETS = ["file_path", "notebook_path", "path", "command", "pattern", "url", "query", "description"];

/** Returns the target of a tool call: the file, the command or the pattern. */
export function targetOf(input: JsonObject): string | undefined {
  const read = reader(input);
  return TARGETS.map((key) => read.text(key)).find((text) => text !== undefined && text !== "");
}

/** The stream uses seconds; values that are too large for seconds are already milliseconds. */
export function epochMs(time: number): number {
  return time < 1e11 ? time * 1000 : time;
}
