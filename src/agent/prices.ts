/** Prices of models, for agents that report tokens but no cost. Configured as `prices` in redrive.yml. */
import { type AgentUsage, usdOf } from "../item/agent-usage.ts";

/** In dollars per million tokens. */
export interface Price {
  readonly input: number;
  /** For input tokens from a cache. Default: the price of `input`. */
  readonly cached?: number;
  readonly output: number;
}

/** By the name of a model or of a format, such as `codex`. */
export type Prices = Readonly<Record<string, Price>>;

/**
 * Returns the cost, based on the first of these names with a known price; undefined without a price or
 * without tokens.
 */
export function costOf(
  { inputTokens, cachedTokens = 0, outputTokens }: AgentUsage,
  prices: Prices = {},
  names: readonly (string | undefined)[],
): number | undefined {
  const name = names.find((one) => one !== undefined && Object.hasOwn(prices, one));
  const price = name === undefined ? undefined : prices[name];
  if (price === undefined || (inputTokens === undefined && outputTokens === undefined)) return undefined;
  const { input, cached = input, output } = price;
  const fresh = Math.max(0, (inputTokens ?? 0) - cachedTokens);
  // Dollars per million tokens are thousandths of a nano-dollar per token.
  const nano = (fresh * input + cachedTokens * cached + (outputTokens ?? 0) * output) * 1000;
  return usdOf(Math.round(nano));
}
