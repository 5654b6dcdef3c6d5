/**
 * The record of one agent that ran as a step: its session and its usage. Updated while the agent runs, so
 * that it survives a killed runner.
 */
import { toRfc3339 } from "../std/clock.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { type AgentUsage, addUsage } from "./agent-usage.ts";
import type { Lease } from "./item.ts";

export interface AgentRun {
  /** Chosen at the start; a later record with the same id replaces the earlier one. */
  readonly id: string;
  /** The item and its attempt. Absent for an agent of setup, reduce or merge. */
  readonly lease?: Lease;
  /** The step in short form, without values of the item, e.g. `step 2`. */
  readonly step: string;
  /** The name of the program, or of the format of its output stream. */
  readonly agent: string;
  /** The id with which the agent continues this session. */
  readonly session?: string;
  readonly usage: AgentUsage;
  /** Whether the agent has reported its final result, so that its totals are complete. */
  readonly isFinal: boolean;
  readonly startedAt: number;
  readonly updatedAt: number;
}

/** Selects agent runs, oldest first. */
export interface AgentRunQuery {
  readonly queue: string;
  /** Only those of this item. */
  readonly ref?: number;
  /** Only those of this session. */
  readonly session?: string;
  readonly limit: number;
}

/** What to add up: whole queues, items, the attempts of an item, or the waiting letters of groups. */
export type UsageQuery =
  | { readonly by: "queue"; readonly queues?: readonly string[] }
  | { readonly by: "item"; readonly queue: string; readonly refs: readonly number[] }
  | { readonly by: "attempt"; readonly ref: number }
  | { readonly by: "group"; readonly queue?: string; readonly signatures: readonly string[] };

/**
 * The summed usage of agents. `key` is the queue, the item's number, the attempt's number or the signature.
 */
export interface UsageSum {
  readonly key: string;
  readonly runs: number;
  readonly usage: Omit<AgentUsage, "model">;
}

/** The public JSON form of agent usage. */
export function usageToJson(usage: AgentUsage): JsonObject {
  return compact({
    cost_usd: usage.costUsd,
    input_tokens: usage.inputTokens,
    cached_tokens: usage.cachedTokens,
    output_tokens: usage.outputTokens,
    turns: usage.turns,
    model: usage.model,
  });
}

export function sumOfRuns(runs: readonly AgentRun[]): AgentUsage {
  return runs.reduce<AgentUsage>((sum, { usage }) => addUsage(sum, usage), {});
}

export function agentRunToJson(run: AgentRun): JsonObject {
  return compact({
    attempt_number: run.lease?.attempt,
    step: run.step,
    agent: run.agent,
    session: run.session,
    open_command: openSessionCommand(run),
    is_final: run.isFinal,
    ...usageToJson(run.usage),
    started_at: toRfc3339(run.startedAt),
    updated_at: toRfc3339(run.updatedAt),
  });
}

/** Returns the command that opens an agent's session interactively; undefined for an unknown agent. */
export function openSessionCommand({
  agent,
  session,
}: Pick<AgentRun, "agent" | "session">): string | undefined {
  if (session === undefined || !/^[\w.:-]+$/.test(session)) return undefined;
  switch (agent) {
    case "claude":
      return `claude --resume ${session}`;
    case "codex":
      return `codex resume ${session}`;
    case "gemini":
      return `gemini --resume ${session}`;
    case "opencode":
      return `opencode --session ${session}`;
    default:
      return undefined;
  }
}
