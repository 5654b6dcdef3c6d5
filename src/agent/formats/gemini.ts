/** Gemini CLI: `gemini -o stream-json`. Tokens are reported only in the last line, `result`; cost is never reported. */
import { compact, type JsonObject, reader } from "../../std/json.ts";
import type { AgentRecord } from "../agent-record.ts";
import { targetOf } from "./claude.ts";
import type { AgentFormat, FormatReader } from "./format.ts";

export const geminiFormat: AgentFormat = {
  name: "gemini",
  isOpening: (message) => message.type === "init" && typeof message.session_id === "string",
  open: (record) => new GeminiReader(record),
};

class GeminiReader implements FormatReader {
  readonly #record: AgentRecord;
  /** Whether the model is working rather than its tools. Each change to true begins a turn. */
  #isModelAtWork = false;
  #lastError: string | undefined;

  constructor(record: AgentRecord) {
    this.#record = record;
  }

  add(message: JsonObject): void {
    const read = reader(message);
    switch (message.type) {
      case "init":
        this.#record.begin(read.text("session_id"), read.text("model"));
        return;
      case "message":
        if (message.role !== "assistant") return;
        this.#beginTurn();
        this.#record.sayMore(read.text("content") ?? "");
        return;
      case "tool_use":
        this.#beginTurn();
        this.#record.act(read.text("tool_name") ?? "tool", targetOf(read.object("parameters") ?? {}));
        return;
      case "tool_result":
        this.#isModelAtWork = false;
        return;
      case "error":
        if (message.severity === "error") this.#lastError = read.text("message") ?? this.#lastError;
        return;
      case "result":
        this.#addResult(message);
    }
  }

  #beginTurn(): void {
    if (this.#isModelAtWork) return;
    this.#isModelAtWork = true;
    this.#record.beginText();
    this.#record.turns = (this.#record.turns ?? 0) + 1;
  }

  #addResult(result: JsonObject): void {
    const read = reader(result);
    const stats = reader(read.object("stats") ?? {});
    this.#record.tokens = compact({
      inputTokens: stats.number("input_tokens"),
      cachedTokens: stats.number("cached"),
      outputTokens: stats.number("output_tokens"),
    });
    this.#record.model ??= Object.keys(stats.object("models") ?? {})[0];
    if (result.status === "success") {
      this.#record.conclude("success");
      return;
    }
    const error = reader(read.object("error") ?? {});
    const message = error.text("message") || this.#lastError || "the agent ended with an error";
    this.#record.error = compact({ message, kind: error.text("type") });
    this.#record.conclude("failed");
  }
}
