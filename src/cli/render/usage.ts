/** Renders the usage of agents: `$1.23`, `42k tokens`, `17 turns`. */
import { usdText } from "../../agent/budget.ts";
import type { AgentActivity } from "../../item/agent-activity.ts";
import type { AgentUsage } from "../../item/agent-usage.ts";
import { clean, counted } from "./text.ts";

/** Returns one text for each known value. */
export function usageTexts({ costUsd, inputTokens, outputTokens, turns }: AgentUsage): readonly string[] {
  const hasTokens = inputTokens !== undefined || outputTokens !== undefined;
  return [
    costUsd === undefined ? "" : usdText(costUsd),
    hasTokens ? `${shortNumber((inputTokens ?? 0) + (outputTokens ?? 0))} tokens` : "",
    turns === undefined ? "" : counted(turns, "turn"),
  ].filter((text) => text !== "");
}

/** Renders the cost, or the tokens if the cost is unknown; empty if both are unknown. */
export function costText(usage: AgentUsage | undefined): string {
  return (usage && usageTexts(usage)[0]) ?? "";
}

/** Renders the last action of an agent and its cost; undefined if it has reported neither. */
export function activityText({ action, usage }: AgentActivity): string | undefined {
  const text = [action ?? "", costText(usage)].filter((part) => part !== "").join(" · ");
  return text === "" ? undefined : clean(text);
}

function shortNumber(count: number): string {
  if (count < 1000) return String(count);
  const [value, unit] = count < 999_500 ? [count / 1000, "k"] : [count / 1_000_000, "M"];
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)}${unit}`;
}
