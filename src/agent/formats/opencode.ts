/**
 * opencode: `opencode run --format json`. Each step is one model call and reports its cost and tokens. There is no final
 * line: the stream has ended when a step has finished without calling a tool.
 */

import { addTokens, nanoUsd, usdOf } from "../../item/agent-usage.ts";
import { compact, type JsonObject, reader } from "../../std/json.ts";
import type { AgentError, AgentRecord } from "../agent-record.ts";
import { targetOf } from "./claude.ts";
import type { AgentFormat, FormatReader } from "./format.ts";

export const opencodeFormat: AgentFormat = {
  name: "opencode",
  isOpening: (message) =>
    typeof message.sessionID === "string" && (message.type === "step_start" || message.type === "error"),
  open: (record) => new OpencodeReader(record),
};

class OpencodeReader implements FormatReader {
  readonly #record: AgentRecord;
  #costNano: number | undefined;

  constructor(record: AgentRecord) {
    this.#record = record;
  }

  add(message: JsonObject): void {
    const read = reader(message);
    this.#record.begin(read.text("sessionID"));
    const part = read.object("part") ?? {};
    switch (message.type) {
      case "step_start":
        this.#record.turns = (this.#record.turns ?? 0) + 1;
        if (this.#record.end === "success") this.#record.end = undefined;
        return;
      case "text":
        this.#record.say(reader(part).text("text") ?? "");
        return;
      case "tool_use":
        this.#addTool(part);
        return;
      case "step_finish":
        this.#addStep(part);
        return;
      case "error":
        this.#record.error = errorOf(read.object("error") ?? {});
        this.#record.conclude("failed");
    }
  }

  #addTool(part: JsonObject): void {
    const state = reader(reader(part).object("state") ?? {});
    const target = targetOf(state.object("input") ?? {}) ?? state.text("title");
    this.#record.act(reader(part).text("tool") ?? "tool", target);
  }

  #addStep(part: JsonObject): void {
    const read = reader(part);
    const cost = read.number("cost");
    // A model without known prices reports a cost of 0; the price table is then used.
    if (cost !== undefined && (cost > 0 || this.#costNano !== undefined))
      this.#costNano = (this.#costNano ?? 0) + nanoUsd(cost);
    if (this.#costNano !== undefined) this.#record.costUsd = usdOf(this.#costNano);
    this.#addTokens(reader(read.object("tokens") ?? {}));
    if (read.text("reason") !== "tool-calls" && this.#record.end !== "failed")
      this.#record.conclude("success");
  }

  /** Input excludes the cache, and output excludes reasoning. */
  #addTokens(tokens: ReturnType<typeof reader>): void {
    const cache = reader(tokens.object("cache") ?? {});
    const cached = cache.number("read");
    const inputs = [tokens.number("input"), cached, cache.number("write")];
    this.#record.tokens = addTokens(
      this.#record.tokens,
      compact({
        inputTokens: sumOf(inputs),
        cachedTokens: cached,
        outputTokens: sumOf([tokens.number("output"), tokens.number("reasoning")]),
      }),
    );
  }
}

function errorOf(error: JsonObject): AgentError {
  const data = reader(reader(error).object("data") ?? {});
  const kind = reader(error).text("name");
  const message = data.text("message") || kind || "the agent reported an error";
  return compact({ message, kind, httpStatus: data.number("statusCode") });
}

function sumOf(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}
