/** Rewrites retry settings of Prodigy: backoffs such as `{exponential: {initial: 1s, multiplier: 2}}`. */
import {
  has,
  isMap,
  isScalar,
  isSeq,
  type Node,
  nodeAt,
  nodesOf,
  plainOf,
  put,
  rename,
  scalar,
  take,
  type YAMLMap,
} from "../../yaml/edit-yaml.ts";
import { rewriteNumber } from "./rewrite-numbers.ts";
import type { Rewriting } from "./rewriting.ts";

/** Matchers such as `network` and `{pattern: "5\\d\\d"}` become regular expressions. */
function retryOn(retry: YAMLMap, rewriting: Rewriting): void {
  const matchers = nodeAt(retry, "retry_on");
  if (!isSeq(matchers)) return;
  matchers.items = matchers.items.map((matcher: unknown) => {
    const text = isScalar(matcher)
      ? matcher.value
      : isMap(matcher)
        ? (plainOf(matcher, "pattern") ?? plainOf(matcher, "error") ?? plainOf(matcher, "custom"))
        : undefined;
    const pattern = MATCHERS[String(text).toLowerCase()] ?? text;
    if (typeof pattern !== "string" || pattern === text)
      return isMap(matcher) ? scalar(String(text), matcher) : matcher;
    rewriting.touch();
    return scalar(pattern, matcher as Node);
  });
}

const MATCHERS: Readonly<Record<string, string>> = {
  network: "(?i)network|connection|unreachable|resolve|ECONN",
  timeout: "(?i)timeout|timed out",
  rate_limit: "(?i)rate.?limit|too many requests|429",
  server_error: "(?i)server error|\\b5\\d\\d\\b",
};

const BACKOFFS = ["exponential", "linear", "fixed", "fibonacci", "custom"];

export function rewriteRetry(node: Node | undefined, rewriting: Rewriting): void {
  if (!isMap(node)) return;
  for (const key of ["attempts", "max_attempts"]) rewriteNumber(node, key, rewriting);
  if (rename(node, "max_retries", "max_attempts")) rewriting.touch();
  rewriteBackoff(node, rewriting);
  const factor = take(node, "jitter_factor");
  if (factor !== undefined)
    rewriting.warn(
      factor,
      "jitter_factor has no effect: with jitter, the wait is a random part of the delay",
    );
  retryOn(node, rewriting);
  const action = take(node, "on_failure");
  if (action === undefined) return;
  const isStop = isScalar(action) && action.value === "stop";
  if (isStop) rewriting.touch();
  else
    rewriting.refuse(
      action,
      "on_failure cannot be set for retries. Write on_failure beside retry, in the step: its steps run when the step is out of attempts",
    );
}

function rewriteBackoff(retry: YAMLMap, rewriting: Rewriting): void {
  const backoff = backoffNode(retry, rewriting);
  if (!isMap(backoff)) return;
  if (plainOf(backoff, "type") === "custom") put(backoff, "type", "list");
  for (const [key, to] of [
    ["initial", "initial_delay"],
    ["delay", "initial_delay"],
    ["base", "factor"],
    ["max", "max_delay"],
  ] as const)
    if (rename(backoff, key, to)) rewriting.touch();
}

/** `backoff: {linear: {increment: 2s}}` becomes `{type: linear, increment: 2s}`. */
function backoffNode(retry: YAMLMap, rewriting: Rewriting): Node | undefined {
  const backoff = nodesOf(backoffOf(retry))[0];
  if (isScalar(backoff) && backoff.value === "custom") {
    backoff.value = "list";
    rewriting.touch();
  }
  if (!isMap(backoff)) return backoff;
  const kind = BACKOFFS.find((name) => has(backoff, name));
  if (kind === undefined || backoff.items.length !== 1) return backoff;
  const inner = take(backoff, kind);
  put(backoff, "type", kind === "custom" ? "list" : kind, backoff);
  if (isMap(inner)) backoff.items.push(...inner.items);
  rewriting.touch();
  return backoff;
}

function backoffOf(retry: YAMLMap): Node | undefined {
  const pair = retry.items.find(({ key }) => isScalar(key) && key.value === "backoff");
  return pair?.value as Node | undefined;
}
