/**
 * Codex: `codex exec --json`. Tokens are reported at the end of a turn, as totals of the whole thread. Cost
 * is never reported, so it is computed from the price table. One run is one turn.
 */

import type { AgentTokens } from "../../item/agent-usage.ts";
import { compact, isJsonObject, type JsonObject, reader } from "../../std/json.ts";
import type { AgentRecord, SessionTotals } from "../agent-record.ts";
import { type AgentFormat, type FormatReader, since } from "./format.ts";

export const codexFormat: AgentFormat = {
  name: "codex",
  isOpening: ({ type }) => type === "thread.started",
  open: (record) => new CodexReader(record),
};

class CodexReader implements FormatReader {
  readonly #record: AgentRecord;
  #totals: AgentTokens | undefined;
  #lastError: string | undefined;

  constructor(record: AgentRecord) {
    this.#record = record;
  }

  add(message: JsonObject): void {
    const read = reader(message);
    switch (message.type) {
      case "thread.started":
        this.#record.begin(read.text("thread_id"));
        return;
      case "turn.started":
        this.#record.turns = (this.#record.turns ?? 0) + 1;
        this.#record.end = undefined;
        return;
      case "item.started":
      case "item.updated":
      case "item.completed":
        this.#addItem(read.object("item") ?? {});
        return;
      case "turn.completed":
        this.#totals = tokensOf(read.object("usage") ?? {});
        this.#record.conclude("success");
        return;
      case "turn.failed":
        this.#fail(reader(read.object("error") ?? {}).text("message"));
        return;
      case "error":
        // Also printed before a retry, so it does not mean that the turn has ended.
        this.#lastError = read.text("message") ?? this.#lastError;
    }
  }

  settle(before: SessionTotals | undefined): void {
    const totals = this.#totals;
    if (totals === undefined) return;
    this.#record.tokens = compact({
      inputTokens: since(totals.inputTokens, before?.inputTokens),
      cachedTokens: since(totals.cachedTokens, before?.cachedTokens),
      outputTokens: since(totals.outputTokens, before?.outputTokens),
    });
  }

  #fail(message: string | undefined): void {
    this.#record.error = { message: message || this.#lastError || "the turn failed" };
    this.#record.conclude("failed");
  }

  #addItem(item: JsonObject): void {
    const read = reader(item);
    switch (item.type) {
      case "agent_message":
        this.#record.say(read.text("text") ?? "");
        return;
      case "command_execution":
        this.#record.act("command", read.text("command"));
        return;
      case "file_change":
        this.#record.act("edit", pathsOf(read.list("changes") ?? []));
        return;
      case "mcp_tool_call":
        this.#record.act([read.text("server"), read.text("tool")].filter(Boolean).join(".") || "tool");
        return;
      case "web_search":
        this.#record.act("web_search", read.text("query"));
        return;
      case "collab_tool_call":
        this.#record.act(read.text("tool") ?? "agent", read.text("prompt"));
    }
  }
}

/** Cached tokens are part of the input, and reasoning is part of the output. */
function tokensOf(usage: JsonObject): AgentTokens {
  const read = reader(usage);
  return compact({
    inputTokens: read.number("input_tokens"),
    cachedTokens: read.number("cached_input_tokens"),
    outputTokens: read.number("output_tokens"),
  });
}

function pathsOf(changes: readonly unknown[]): string {
  return changes
    .filter(isJsonObject)
    .map((change) => reader(change).text("path") ?? "")
    .filter((path) => path !== "")
    .join(", ");
}
