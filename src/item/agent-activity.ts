/**
 * What a running agent is doing, stored as the progress of its attempt: the step, the last action and the
 * usage so far.
 */
import { compact, isJsonObject, type Json, type JsonObject, reader } from "../std/json.ts";
import { usageToJson } from "./agent-run.ts";
import type { AgentUsage } from "./agent-usage.ts";

export interface AgentActivity {
  /** E.g. `step 2 of 5: claude: Fix a.ts`. */
  readonly step: string;
  /** The last tool call, e.g. `Edit src/a.ts`. */
  readonly action?: string;
  readonly usage?: AgentUsage;
}

/** The step of an item that waits until its work is verified. */
export const VERIFY_STEP = "verify";

export function activityToJson({ step, action, usage }: AgentActivity): JsonObject {
  return compact({ step, action, ...(usage && { usage: usageToJson(usage) }) });
}

/** Returns undefined for progress of another form, which handlers choose freely. */
export function activityFromJson(json: Json): AgentActivity | undefined {
  if (!isJsonObject(json)) return undefined;
  const read = reader(json);
  const step = read.text("step");
  if (step === undefined) return undefined;
  const used = read.object("usage");
  return compact({ step, action: read.text("action"), usage: used && usageFromJson(used) });
}

function usageFromJson(json: JsonObject): AgentUsage {
  const read = reader(json);
  return compact({
    model: read.text("model"),
    costUsd: read.number("cost_usd"),
    inputTokens: read.number("input_tokens"),
    cachedTokens: read.number("cached_tokens"),
    outputTokens: read.number("output_tokens"),
    turns: read.number("turns"),
  });
}
