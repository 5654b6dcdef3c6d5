/** Rewrites retry settings of Prodigy: backoffs such as `{exponential: {initial: 1s, multiplier: 2}}`. */
import * as yaml from "../../yaml/edit-yaml.ts";
import { rewriteNumber } from "./rewrite-numbers.ts";
import type { Rewriting } from "./rewriting.ts";

/** Matchers such as `network` and `{pattern: "5\\d\\d"}` become regular expressions. */
function retryOn(retry: yaml.YAMLMap, rewriting: Rewriting): void {
  const matchers = yaml.nodeAt(retry, "retry_on");
  if (!yaml.isSeq(matchers)) return;
  matchers.items = matchers.items.map((matcher: unknown) => {
    const text = yaml.isScalar(matcher)
      ? matcher.value
      : yaml.isMap(matcher)
        ? (yaml.plainOf(matcher, "pattern") ??
          yaml.plainOf(matcher, "error") ??
          yaml.plainOf(matcher, "custom"))
        : undefined;
    const pattern = MATCHERS[String(text).toLowerCase()] ?? text;
    if (typeof pattern !== "string" || pattern === text)
      return yaml.isMap(matcher) ? yaml.scalar(String(text), matcher) : matcher;
    rewriting.touch();
    return yaml.scalar(pattern, matcher as yaml.Node);
  });
}

const MATCHERS: Readonly<Record<string, string>> = {
  network: "(?i)network|connection|unreachable|resolve|ECONN",
  timeout: "(?i)timeout|timed out",
  rate_limit: "(?i)rate.?limit|too many requests|429",
  server_error: "(?i)server error|\\b5\\d\\d\\b",
};

const BACKOFFS = ["exponential", "linear", "fixed", "fibonacci", "custom"];

export function rewriteRetry(node: yaml.Node | undefined, rewriting: Rewriting): void {
  if (!yaml.isMap(node)) return;
  for (const key of ["attempts", "max_attempts"]) rewriteNumber(node, key, rewriting);
  if (yaml.rename(node, "max_retries", "max_attempts")) rewriting.touch();
  rewriteBackoff(node, rewriting);
  const factor = yaml.take(node, "jitter_factor");
  if (factor !== undefined)
    rewriting.warn(
      factor,
      "jitter_factor has no effect: with jitter, the wait is a random part of the delay",
    );
  retryOn(node, rewriting);
  const action = yaml.take(node, "on_failure");
  if (action === undefined) return;
  const isStop = yaml.isScalar(action) && action.value === "stop";
  if (isStop) rewriting.touch();
  else
    rewriting.refuse(
      action,
      "on_failure cannot be set for retries. Write on_failure next to retry, in the step: its steps run when the step is out of attempts",
    );
}

function rewriteBackoff(retry: yaml.YAMLMap, rewriting: Rewriting): void {
  const backoff = backoffNode(retry, rewriting);
  if (!yaml.isMap(backoff)) return;
  if (yaml.plainOf(backoff, "type") === "custom") yaml.put(backoff, "type", "list");
  for (const [key, to] of [
    ["initial", "initial_delay"],
    ["delay", "initial_delay"],
    ["base", "factor"],
    ["max", "max_delay"],
  ] as const)
    if (yaml.rename(backoff, key, to)) rewriting.touch();
}

/** `backoff: {linear: {increment: 2s}}` becomes `{type: linear, increment: 2s}`. */
function backoffNode(retry: yaml.YAMLMap, rewriting: Rewriting): yaml.Node | undefined {
  const backoff = yaml.nodesOf(backoffOf(retry))[0];
  if (yaml.isScalar(backoff) && backoff.value === "custom") {
    backoff.value = "list";
    rewriting.touch();
  }
  if (!yaml.isMap(backoff)) return backoff;
  const kind = BACKOFFS.find((name) => yaml.has(backoff, name));
  if (kind === undefined || backoff.items.length !== 1) return backoff;
  const inner = yaml.take(backoff, kind);
  yaml.put(backoff, "type", kind === "custom" ? "list" : kind, backoff);
  if (yaml.isMap(inner)) backoff.items.push(...inner.items);
  rewriting.touch();
  return backoff;
}

function backoffOf(retry: yaml.YAMLMap): yaml.Node | undefined {
  const pair = retry.items.find(({ key }) => yaml.isScalar(key) && key.value === "backoff");
  return pair?.value as yaml.Node | undefined;
}
