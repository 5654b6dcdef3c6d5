/** The usage of agents (cost, tokens and turns), and how to sum it. */
import { compact } from "../std/json.ts";

/** The usage of one agent, or the sum over several. */
export interface AgentUsage {
  readonly model?: string;
  readonly costUsd?: number;
  /** All tokens of the prompts, including those that came from a cache. */
  readonly inputTokens?: number;
  /** The part of the input tokens that was read from a cache. */
  readonly cachedTokens?: number;
  readonly outputTokens?: number;
  /** The number of model calls, as the agent counts them. */
  readonly turns?: number;
}

export type AgentTokens = Pick<AgentUsage, "inputTokens" | "cachedTokens" | "outputTokens">;

const COUNTS = ["inputTokens", "cachedTokens", "outputTokens"] as const;

export function addTokens(sum: AgentTokens, more: AgentTokens): AgentTokens {
  return compact(Object.fromEntries(COUNTS.map((key) => [key, plus(sum[key], more[key])]))) as AgentTokens;
}

/** Adds up the usage of several agents. The model is that of the last one. */
export function addUsage(sum: AgentUsage | undefined, more: AgentUsage): AgentUsage {
  return compact({
    model: more.model ?? sum?.model,
    costUsd: addUsd(sum?.costUsd, more.costUsd),
    ...addTokens(sum ?? {}, more),
    turns: plus(sum?.turns, more.turns),
  });
}

/** Costs are summed as integers in billionths of a dollar, to avoid rounding errors. */
const NANO = 1e9;

export function nanoUsd(usd: number): number {
  return Math.round(usd * NANO);
}

export function usdOf(nano: number): number {
  return nano / NANO;
}

function addUsd(sum: number | undefined, more: number | undefined): number | undefined {
  if (sum === undefined || more === undefined) return sum ?? more;
  return usdOf(nanoUsd(sum) + nanoUsd(more));
}

function plus(sum: number | undefined, more: number | undefined): number | undefined {
  return sum === undefined ? more : sum + (more ?? 0);
}
