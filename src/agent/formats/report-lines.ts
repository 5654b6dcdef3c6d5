/**
 * The report lines with which any program can report its usage like an agent: `{"redrive": {"cost_usd": 0.12,
 * "turns": 3, …}}`. Numbers are totals of the run so far, so a line may be repeated. Described in
 * docs/05-workflows.md.
 */
import { compact, isJsonObject, type JsonObject, reader } from "../../std/json.ts";
import type { AgentRecord } from "../agent-record.ts";

/** The name of this format. Its programs also print other output. */
export const REPORT_LINES = "redrive";

export function isReportLine(message: JsonObject): boolean {
  return isJsonObject(message.redrive);
}

export function readReportLine(message: JsonObject, record: AgentRecord): void {
  const read = reader(reader(message).object("redrive") ?? {});
  record.begin(read.text("session"), read.text("model"));
  record.costUsd = count(read.number("cost_usd")) ?? record.costUsd;
  record.turns = count(read.number("turns")) ?? record.turns;
  const tokens = compact({
    inputTokens: count(read.number("input_tokens")),
    cachedTokens: count(read.number("cached_tokens")),
    outputTokens: count(read.number("output_tokens")),
  });
  record.tokens = { ...record.tokens, ...tokens };
  const action = read.text("action");
  if (action !== undefined) record.act(action, read.text("target"));
  const status = read.text("status");
  if (status === "success") record.conclude("success", read.text("result"));
  if (status !== "failed") return;
  record.error = { message: read.text("error") || "the agent reported a failure" };
  record.conclude("failed", read.text("result"));
}

/** Ignores negative numbers, which would hide earlier usage. */
function count(value: number | undefined): number | undefined {
  return value !== undefined && value >= 0 ? value : undefined;
}
