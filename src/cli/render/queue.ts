/** Queues as people read them: a table of all, one with its settings, and what to do next. */

import type { DeliverySpec, TokenSource } from "../../delivery/target-settings.ts";
import { addressOf, type TargetSummary } from "../../delivery/target-settings.ts";
import type { Pause } from "../../item/job.ts";
import { backoffToText, durationToText, outageToText, rateToText } from "../../queue/queue-spec.ts";
import type { QueueSummary } from "../../queue/queue-status.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";
import type { Fact, Screen, Section } from "./details.ts";
import { detailsText, factLines, titleOf } from "./details.ts";
import { clean, type Paint, paintFor } from "./paint.ts";
import { type Column, table } from "./table.ts";
import { thousands } from "./words.ts";

export function queuesText(queues: readonly QueueSummary[], { paint, columns }: Screen): string {
  if (queues.length === 0) return "No queues. To create one: redrive queue create NAME\n";
  const count = (
    title: string,
    of: (queue: QueueSummary) => number,
    giveUp?: number,
  ): Column<QueueSummary> => ({
    title,
    value: (queue) => thousands(of(queue)),
    align: "right",
    ...(giveUp !== undefined && { giveUp }),
  });
  return table(
    queues,
    [
      { title: "QUEUE", value: ({ name }) => name },
      { title: "STATUS", value: statusOf, paint: (cell, queue) => tintOf(queue, paint)(cell) },
      count("READY", ({ counts }) => counts.ready),
      count("LEASED", ({ counts }) => counts.leased),
      count("HELD", ({ counts }) => counts.held, 2),
      count("DONE", ({ counts }) => counts.done, 1),
      {
        ...count("DEAD", ({ counts }) => counts.dead),
        paint: (cell, { counts }) => (counts.dead > 0 ? paint.red(cell) : cell),
      },
      count("WORKERS", ({ workers }) => workers.length),
      { title: "OLDEST", value: oldestOf, align: "right", giveUp: 1 },
      { title: "WHAT FOR", value: ({ spec }) => spec.description ?? "", cutTo: 12, giveUp: 3 },
    ],
    columns,
  );
}

/** What a person has to know first. */
export function statusOf({ pause, breaker, parkedUntil, workers, counts }: QueueSummary): string {
  if (pause) return "paused";
  if (breaker && breaker.state !== "closed") return breaker.state === "open" ? "breaker open" : "probing";
  if (parkedUntil !== undefined) return "waiting";
  if (workers.length === 0) return counts.ready > 0 ? "no workers" : "idle";
  return counts.ready + counts.leased > 0 ? "working" : "idle";
}

export function tintOf(queue: QueueSummary, paint: Paint): (text: string) => string {
  const status = statusOf(queue);
  if (status === "working") return paint.green;
  return status === "idle" ? paint.dim : paint.yellow;
}

function oldestOf({ oldestReadyMs }: QueueSummary): string {
  return oldestReadyMs === undefined ? "" : formatDuration(oldestReadyMs);
}

export function queueText(queue: QueueSummary, screen: Screen): string {
  return standingText(queue, screen, {
    items: { title: "Items", facts: countsOf(queue) },
    settings: settingFacts(queue),
    next: nextSteps(queue),
  });
}

interface StandingParts {
  readonly items: Section;
  readonly settings: readonly Fact[];
  readonly next: readonly string[];
}

/** A queue or a target: both have a status, counts, settings and workers. */
function standingText(queue: QueueSummary, screen: Screen, { items, settings, next }: StandingParts): string {
  const status = tintOf(queue, screen.paint)(statusOf(queue));
  return detailsText(
    [
      { ...titleOf(queue.name, status), facts: factsOf(queue) },
      items,
      { title: "Settings", facts: settings },
      { title: "Workers", lines: workerLines(queue) },
      { title: "Next", next: next.map((command) => ({ command })) },
    ],
    screen,
  );
}

function factsOf(queue: QueueSummary): readonly Fact[] {
  const { spec, pause, breaker, parkedUntil, parkedFor, createdAt } = queue;
  const facts: Fact[] = [];
  if (spec.description !== undefined) facts.push(["For", spec.description]);
  facts.push(["Created", toRfc3339(createdAt)]);
  if (pause) facts.push(["Paused", pauseText(pause)]);
  if (breaker) {
    const until = breaker.until === undefined ? "" : ` until ${toRfc3339(breaker.until)}`;
    facts.push([
      "Breaker",
      `${breaker.state === "half_open" ? "half open: a few are tried" : breaker.state}${until}`,
    ]);
  }
  if (parkedUntil !== undefined)
    facts.push(["Waits", `until ${toRfc3339(parkedUntil)}${parkedFor ? `: ${parkedFor}` : ""}`]);
  return facts;
}

export function pauseText({ at, author, reason }: Pause): string {
  return clean(`since ${toRfc3339(at)} by ${author}${reason === "" ? "" : `: ${reason}`}`);
}

/** The names of the states of items. */
const ITEM_WORDS = { ready: "Ready", leased: "Leased", done: "Done" };

function countsOf({ counts, oldestReadyMs }: QueueSummary, words = ITEM_WORDS): readonly Fact[] {
  const { ready, leased, held, done, dead, skipped, discarded, letters } = counts;
  const oldest = oldestReadyMs === undefined ? "" : `, the oldest due for ${formatDuration(oldestReadyMs)}`;
  const onTheirWay = letters > dead ? `, ${thousands(letters - dead)} more on their way` : "";
  const all: readonly (readonly [string, number, string])[] = [
    [words.ready, ready, oldest],
    [words.leased, leased, ""],
    ["Held", held, ""],
    [words.done, done, ""],
    ["Dead", dead, onTheirWay],
    ["Skipped", skipped, ""],
    ["Discarded", discarded, ""],
  ];
  return all
    .filter(([name, count]) => count > 0 || [words.ready, words.done, "Dead"].includes(name))
    .map(([name, count, more]) => [name, `${thousands(count)}${more}`]);
}

/** In the words of the options. */
function settingFacts({ spec }: QueueSummary): readonly Fact[] {
  const { policy, rate, expiresAfterMs, schema } = spec;
  const facts: Fact[] = [
    ["retries", String(policy.maxAttempts - 1)],
    ["backoff", backoffToText(policy.backoff)],
    ["on-failure", policy.onItemFailure],
    ["lease", durationToText(spec.leaseMs)],
    ["priority", spec.priority],
    ["unique", spec.unique],
  ];
  if (policy.onOutage === "wait") facts.push(["on-outage", outageToText(policy)]);
  if (policy.lossesMax !== 3) facts.push(["max-losses", String(policy.lossesMax)]);
  if (policy.breaker) {
    const { failureThreshold, timeoutMs } = policy.breaker;
    facts.push([
      "breaker",
      `pause after ${failureThreshold} failures in a row for ${durationToText(timeoutMs)}`,
    ]);
  }
  if (rate) facts.push(["rate", rateToText(rate.perSecond)]);
  if (expiresAfterMs !== undefined) facts.push(["expires-after", durationToText(expiresAfterMs)]);
  if (schema !== undefined) facts.push(["schema", "yes; --json shows it"]);
  return facts;
}

const PLAIN = { paint: paintFor({ isTty: false, env: {} }), columns: Number.POSITIVE_INFINITY };

export function settingsText(queue: QueueSummary): string {
  return factLines(settingFacts(queue), PLAIN);
}

const WORKERS_SHOWN_MAX = 10;

function workerLines({ workers }: QueueSummary): readonly string[] {
  const lines = workers
    .slice(0, WORKERS_SHOWN_MAX)
    .map(({ holder, leased }) => `${clean(holder)}  ${leased} leased`);
  const more = workers.length - WORKERS_SHOWN_MAX;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

function nextSteps({ name, pause, workers, counts }: QueueSummary): readonly string[] {
  return [
    ...(pause ? [`redrive queue resume ${name}`] : []),
    ...(counts.total === 0 ? [`redrive queue add ${name} --data '{"a": 1}'`] : []),
    ...(workers.length === 0 && counts.ready > 0 ? [`redrive worker --queue ${name} -- COMMAND`] : []),
    ...(counts.dead > 0 ? [`redrive dlq list ${name}`, `redrive dlq retry ${name}`] : []),
  ];
}

export function targetsText(targets: readonly TargetSummary[], { paint, columns }: Screen): string {
  if (targets.length === 0) return "No targets. To create one: redrive receipts target NAME --url URL\n";
  const count = (title: string, of: (target: TargetSummary) => number): Column<TargetSummary> => ({
    title,
    value: (target) => thousands(of(target)),
    align: "right",
  });
  return table(
    targets,
    [
      { title: "TARGET", value: ({ name }) => name },
      { title: "STATUS", value: statusOf, paint: (cell, target) => tintOf(target, paint)(cell) },
      count("WAITING", ({ counts }) => counts.ready + counts.held),
      count("SENDING", ({ counts }) => counts.leased),
      count("DELIVERED", ({ counts }) => counts.done),
      {
        ...count("DEAD", ({ counts }) => counts.dead),
        paint: (cell, { counts }) => (counts.dead > 0 ? paint.red(cell) : cell),
      },
      { title: "WHERE", value: ({ spec }) => whereOf(spec.delivery), giveUp: 1 },
    ],
    columns,
  );
}

function whereOf({ protocol, url, tool }: DeliverySpec): string {
  if (url === undefined || protocol === "function") return "a function of the service";
  return protocol === "mcp" ? `${tool} at ${addressOf(url)}` : addressOf(url);
}

/** As the table of all targets has it. */
const RECEIPT_WORDS = { ready: "Waiting", leased: "Sending", done: "Delivered" };

export function targetText(target: TargetSummary, screen: Screen): string {
  return standingText(target, screen, {
    items: { title: "Receipts", facts: countsOf(target, RECEIPT_WORDS) },
    settings: targetFacts(target),
    next: targetSteps(target),
  });
}

/** In the words of the options. */
function targetFacts({ spec }: TargetSummary): readonly Fact[] {
  const { delivery } = spec;
  const { policy, rate } = spec;
  const { protocol, url, tool, headers = {}, token, orderField, keyArgument } = delivery;
  const facts: Fact[] = [["protocol", protocol]];
  if (url !== undefined) facts.push(["url", addressOf(url)]);
  if (protocol === "mcp") facts.push(["tool", tool]);
  if (keyArgument !== undefined) facts.push(["key-argument", keyArgument]);
  for (const [name, value] of Object.entries(headers)) facts.push(["header", `${name}: ${value}`]);
  facts.push(["token", tokenText(token)], ["timeout", durationToText(delivery.timeoutMs)]);
  facts.push(["retries", String(policy.maxAttempts - 1)], ["backoff", backoffToText(policy.backoff)]);
  facts.push(["on-outage", outageToText(policy)]);
  if (policy.breaker) {
    const { failureThreshold, timeoutMs } = policy.breaker;
    facts.push(["breaker", `wait ${durationToText(timeoutMs)} after ${failureThreshold} failures in a row`]);
  } else facts.push(["breaker", "none"]);
  if (rate) facts.push(["rate", rateToText(rate.perSecond)]);
  if (orderField !== undefined) facts.push(["order-field", orderField]);
  if (delivery.idHeader !== "Idempotency-Key") facts.push(["id-header", delivery.idHeader]);
  return facts;
}

export function targetSettingsText(target: TargetSummary): string {
  return factLines(targetFacts(target), PLAIN);
}

/** Where it is, never what it is. */
function tokenText(token: TokenSource | undefined): string {
  if (token === undefined) return "none";
  return "env" in token ? `in the environment variable ${token.env}` : `in the file ${token.file}`;
}

function targetSteps({ name, pause, workers, counts }: TargetSummary): readonly string[] {
  return [
    ...(pause ? [`redrive receipts resume ${name}`] : []),
    ...(counts.total === 0 ? [`redrive receipts send ${name} --data '{"task_id": "t-1"}'`] : []),
    ...(workers.length === 0 && counts.ready > 0 ? [`redrive receipts deliver ${name}`] : []),
    ...(counts.dead > 0 ? [`redrive dlq list ${name}`, `redrive receipts recover ${name}`] : []),
  ];
}
