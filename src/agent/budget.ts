/** Budgets: how much an attempt or a whole job may use. */

import { RedriveError } from "../errors.ts";
import { type AgentUsage, addUsage } from "../item/agent-usage.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";

/** Limits for cost, tokens (input and output together) and turns. */
export interface Limits {
  readonly usd?: number;
  readonly tokens?: number;
  readonly turns?: number;
}

/** The limits of a job, and the limits of each attempt. */
export interface Budget extends Limits {
  readonly attempt?: Limits;
}

/** Returns the first limit that was reached, as text such as `$0.52 of $0.50`; undefined while there is budget left. */
export function exceeded(usage: AgentUsage, { usd, tokens, turns }: Limits): string | undefined {
  const { costUsd = 0, inputTokens = 0, outputTokens = 0, turns: taken = 0 } = usage;
  const used = inputTokens + outputTokens;
  if (usd !== undefined && costUsd >= usd) return `${usdText(costUsd)} of ${usdText(usd)}`;
  if (tokens !== undefined && used >= tokens) return `${used} of ${tokens} tokens`;
  return turns !== undefined && taken >= turns ? `${taken} of ${turns} turns` : undefined;
}

/** Small amounts keep two significant digits: `$0.0042`. */
export function usdText(usd: number): string {
  if (usd === 0 || usd >= 0.01) return `$${usd.toFixed(2)}`;
  return `$${usd.toPrecision(2).replace(/0+$/, "")}`;
}

/**
 * The failure of an attempt that was ended because of its budget. Not retried, because a retry would cost as
 * much again.
 */
export function overBudget(whose: string, amount: string): ReportedFailure {
  return {
    type: { name: "ResourceExhausted" },
    class: "permanent",
    message: `over the budget of the ${whose}: ${amount}`,
  };
}

const UNITS = { usd: "usd", tokens: "tokens", turns: "turns" } as const;

/** Parses `25`, `$25` or `usd=25,tokens=2000000,turns=300`. Throws a usage error. */
export function parseBudget(text: string): Limits {
  const plain = /^\$?(\d+(?:\.\d+)?)$/.exec(text.trim());
  if (plain) return positive({ usd: Number(plain[1]) }, text);
  const limits: Record<string, number> = {};
  for (const part of text.split(",")) {
    const [, name = "", value] = /^\s*(usd|tokens|turns)\s*=\s*\$?(\d+(?:\.\d+)?)\s*$/.exec(part) ?? [];
    const unit = UNITS[name as keyof typeof UNITS];
    if (unit === undefined) throw invalid(text);
    limits[unit] = Number(value);
  }
  return positive(limits, text);
}

function positive(limits: Limits, text: string): Limits {
  const isValid = Object.values(limits).every((limit: number) => limit > 0);
  if (!isValid || !Number.isInteger(limits.tokens ?? 1) || !Number.isInteger(limits.turns ?? 1))
    throw invalid(text);
  return limits;
}

function invalid(text: string): RedriveError {
  return new RedriveError("usage", `"${text}" is not a budget.`, {
    hint: "Give dollars, such as 25, or usd=25,tokens=2000000,turns=300.",
  });
}

/** The total usage of several agents, some of which are still running. The newest report of an agent replaces its earlier one. */
export class UsageTotal {
  #before: AgentUsage;
  readonly #running = new Map<string, AgentUsage>();

  constructor(before: AgentUsage = {}) {
    this.#before = before;
  }

  set(id: string, usage: AgentUsage): void {
    this.#running.set(id, usage);
  }

  /** The agent has ended, so its last report is final. */
  close(id: string): void {
    this.#before = addUsage(this.#before, this.#running.get(id) ?? {});
    this.#running.delete(id);
  }

  get sum(): AgentUsage {
    return [...this.#running.values()].reduce((sum, usage) => addUsage(sum, usage), this.#before);
  }
}
