/** What the agents of an attempt used, added up over its steps. */
import { compact } from "../item/failure.ts";
import type { AgentUsage } from "./world.ts";

/** The sum; the model is that of the last one that named any. */
export function addUsage(sum: AgentUsage | undefined, more: AgentUsage): AgentUsage {
  return compact({
    model: more.model ?? sum?.model,
    costUsd: plus(sum?.costUsd, more.costUsd),
    inputTokens: plus(sum?.inputTokens, more.inputTokens),
    outputTokens: plus(sum?.outputTokens, more.outputTokens),
  });
}

function plus(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : one + (other ?? 0);
}
