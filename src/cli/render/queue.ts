/** Renders queues and receipt targets, which are queues too: a table, and one with its settings and suggested commands. */
import {
  addressOf,
  type DeliverySpec,
  type TargetSummary,
  type TokenSource,
} from "../../delivery/target-settings.ts";
import type { Pause } from "../../item/job.ts";
import { backoffToText, durationToText, outageToText, rateToText } from "../../queue/queue-spec.ts";
import type { QueueSummary } from "../../queue/queue-status.ts";
import type { QueueWaits } from "../../queue/queue-waits.ts";
import type { Policy } from "../../retry/policy.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";
import { type Column, detailsText, type Fact, factLines, table, titleOf } from "./layout.ts";
import { capped, clean, type Paint, PLAIN_SCREEN, type Screen, some, type Tint, thousands } from "./text.ts";

export function queuesText(queues: readonly QueueSummary[], screen: Screen): string {
  if (queues.length === 0) return "No queues. To create one: redrive queue create NAME\n";
  return standingTable("QUEUE", queues, screen, [
    { title: "READY", value: ({ counts }) => counts.ready },
    { title: "LEASED", value: ({ counts }) => counts.leased },
    { title: "HELD", value: ({ counts }) => counts.held, giveUp: 2 },
    { title: "DONE", value: ({ counts }) => counts.done, giveUp: 1 },
    deadColumn(screen),
    { title: "WORKERS", value: ({ workers }) => workers.length },
    { title: "OLDEST", value: oldestOf, align: "right", giveUp: 1 },
    { title: "WHAT FOR", value: ({ spec }) => spec.description, cutTo: 12, giveUp: 3 },
  ]);
}

export function targetsText(targets: readonly TargetSummary[], screen: Screen): string {
  if (targets.length === 0) return "No targets. To create one: redrive receipts target NAME --url URL\n";
  return standingTable("TARGET", targets, screen, [
    { title: "WAITING", value: ({ counts }) => counts.ready + counts.held },
    { title: "SENDING", value: ({ counts }) => counts.leased },
    { title: "DELIVERED", value: ({ counts }) => counts.done },
    deadColumn(screen),
    { title: "WHERE", value: ({ spec }) => whereOf(spec.delivery), giveUp: 1 },
  ]);
}

function standingTable<Row extends QueueSummary>(
  title: string,
  rows: readonly Row[],
  { paint, columns: width }: Screen,
  columns: readonly Column<Row>[],
): string {
  const tint = (cell: string, row: Row) => tintOf(row, paint)(cell);
  const name = { title, value: (row: Row) => row.name };
  return table(rows, [name, { title: "STATUS", value: statusOf, paint: tint }, ...columns], width);
}

function deadColumn({ paint }: Screen): Column<QueueSummary> {
  const tint = (cell: string, { counts }: QueueSummary) => (counts.dead > 0 ? paint.red(cell) : cell);
  return { title: "DEAD", value: ({ counts }) => counts.dead, paint: tint };
}

/** Returns the status in one or two words, most important condition first. */
function statusOf({ pause, breaker, parkedUntil, workers, counts }: QueueSummary): string {
  if (pause) return "paused";
  if (breaker && breaker.state !== "closed") return breaker.state === "open" ? "breaker open" : "probing";
  if (parkedUntil !== undefined) return "waiting";
  if (workers.length === 0) return counts.ready > 0 ? "no workers" : "idle";
  return counts.ready + counts.leased > 0 ? "working" : "idle";
}

function tintOf(queue: QueueSummary, paint: Paint): Tint {
  const status = statusOf(queue);
  if (status === "working") return paint.green;
  return status === "idle" ? paint.dim : paint.yellow;
}

function oldestOf({ oldestReadyMs }: QueueSummary): string | undefined {
  return oldestReadyMs === undefined ? undefined : formatDuration(oldestReadyMs);
}

function whereOf({ protocol, url, tool }: DeliverySpec): string {
  if (url === undefined || protocol === "function") return "a function in the service";
  return protocol === "mcp" ? `${tool} at ${addressOf(url)}` : addressOf(url);
}

type Words = Readonly<Record<"items" | "ready" | "leased" | "done", string>>;
const QUEUE_WORDS: Words = { items: "Items", ready: "Ready", leased: "Leased", done: "Done" };
const TARGET_WORDS: Words = { items: "Receipts", ready: "Waiting", leased: "Sending", done: "Delivered" };

export function queueText(queue: QueueSummary, screen: Screen): string {
  const { name } = queue;
  return standingText(queue, screen, {
    words: QUEUE_WORDS,
    settings: queueSettings(queue),
    resume: `queue resume ${name}`,
    add: `queue add ${name} '{"a": 1}'`,
    work: `worker --queue ${name} -- COMMAND`,
    retry: `dlq retry ${name}`,
  });
}

export function targetText(target: TargetSummary, screen: Screen): string {
  const { name } = target;
  return standingText(target, screen, {
    words: TARGET_WORDS,
    settings: targetSettings(target),
    resume: `receipts resume ${name}`,
    add: `receipts send ${name} --data '{"task_id": "t-1"}'`,
    work: `receipts deliver ${name}`,
    retry: `receipts recover ${name}`,
  });
}

const WORKERS_SHOWN_MAX = 10;

interface Kind extends Record<"resume" | "add" | "work" | "retry", string> {
  readonly words: Words;
  readonly settings: readonly Fact[];
}

function standingText(queue: QueueSummary, screen: Screen, kind: Kind): string {
  const { words, settings, resume, add, work, retry } = kind;
  const { name, pause, workers, counts } = queue;
  const workerLines = workers.map(({ holder, leased }) => `${clean(holder)}  ${leased} leased`);
  const steps = [
    pause && resume,
    counts.total === 0 && add,
    workers.length === 0 && counts.ready > 0 && work,
    counts.dead > 0 && `dlq list ${name}`,
    counts.dead > 0 && retry,
  ];
  return detailsText(
    [
      { ...titleOf(name, tintOf(queue, screen.paint)(statusOf(queue))), facts: factsOf(queue) },
      { title: words.items, facts: countsOf(queue, words) },
      { title: "Settings", facts: settings },
      { title: "Workers", lines: capped(workerLines, WORKERS_SHOWN_MAX, (left) => `and ${left} more`) },
      { title: "Next", next: steps.flatMap((command) => (command ? [[`redrive ${command}`] as const] : [])) },
    ],
    screen,
  );
}

function factsOf({ spec, pause, breaker, parkedUntil, parkedFor, createdAt }: QueueSummary): readonly Fact[] {
  const state = breaker?.state === "half_open" ? "half open: trying a few items" : breaker?.state;
  const until = breaker?.until === undefined ? "" : ` until ${toRfc3339(breaker.until)}`;
  const waits = parkedUntil === undefined ? undefined : `until ${toRfc3339(parkedUntil)}`;
  return [
    ["For", spec.description],
    ["Created", toRfc3339(createdAt)],
    ["Paused", pause && pauseText(pause)],
    ["Breaker", state && `${state}${until}`],
    ["Waits", waits && `${waits}${parkedFor ? `: ${parkedFor}` : ""}`],
  ];
}

export function pauseText({ at, author, reason }: Pause): string {
  return clean(`since ${toRfc3339(at)} by ${author}${reason === "" ? "" : `: ${reason}`}`);
}

/** Formats the counts; rare states are hidden while they are empty. */
function countsOf(queue: QueueSummary, words: Words): readonly Fact[] {
  const { ready, leased, held, done, dead, skipped, discarded, letters } = queue.counts;
  const oldest = oldestOf(queue);
  const rare = (count: number) => (count > 0 ? thousands(count) : undefined);
  const redriven = some(letters - dead, "more being redriven");
  return [
    [words.ready, `${thousands(ready)}${oldest === undefined ? "" : `, the oldest due for ${oldest}`}`],
    [words.leased, rare(leased)],
    ["Waited", queue.waits && waitsText(queue.waits)],
    ["Held", rare(held)],
    [words.done, thousands(done)],
    ["Dead", letters > dead ? `${thousands(dead)}, ${redriven}` : thousands(dead)],
    ["Skipped", rare(skipped)],
    ["Discarded", rare(discarded)],
  ];
}

function waitsText({ p50Ms, p95Ms, items }: QueueWaits): string {
  const starts = items === 1 ? "the last start" : `the last ${thousands(items)} starts`;
  return `p50 ${formatDuration(p50Ms)}, p95 ${formatDuration(p95Ms)} of ${starts}`;
}

/** Formats the settings under the names of their options. */
function queueSettings({ spec }: QueueSummary): readonly Fact[] {
  const { policy, rate, expiresAfterMs, schema } = spec;
  return [
    ...retrySettings(policy),
    ["on-failure", policy.onItemFailure],
    ["lease", durationToText(spec.leaseMs)],
    ["priority", spec.priority],
    ["unique", spec.unique],
    ["on-outage", policy.onOutage === "wait" ? outageToText(policy) : undefined],
    ["max-losses", policy.lossesMax === 3 ? undefined : String(policy.lossesMax)],
    ["breaker", breakerText(policy)],
    ["rate", rate && rateToText(rate.perSecond)],
    ["expires-after", expiresAfterMs === undefined ? undefined : durationToText(expiresAfterMs)],
    ["schema", schema === undefined ? undefined : "yes; --json shows it"],
  ];
}

function targetSettings({ spec: { policy, rate, delivery } }: TargetSummary): readonly Fact[] {
  const { protocol, url, tool, headers = {}, token, orderField, keyArgument, idHeader } = delivery;
  return [
    ["protocol", protocol],
    ["url", url === undefined ? undefined : addressOf(url)],
    ["tool", protocol === "mcp" ? tool : undefined],
    ["key-argument", keyArgument],
    ...Object.entries(headers).map(([name, value]): Fact => ["header", `${name}: ${value}`]),
    ["token", tokenText(token)],
    ["timeout", durationToText(delivery.timeoutMs)],
    ...retrySettings(policy),
    ["on-outage", outageToText(policy)],
    ["breaker", breakerText(policy) ?? "none"],
    ["rate", rate && rateToText(rate.perSecond)],
    ["order-field", orderField],
    ["id-header", idHeader === "Idempotency-Key" ? undefined : idHeader],
  ];
}

function retrySettings({ maxAttempts, backoff }: Policy): readonly Fact[] {
  return [
    ["retries", String(maxAttempts - 1)],
    ["backoff", backoffToText(backoff)],
  ];
}

function breakerText({ breaker }: Policy): string | undefined {
  if (breaker === undefined) return undefined;
  return `pause after ${breaker.failureThreshold} failures in a row for ${durationToText(breaker.timeoutMs)}`;
}

/** Formats the location of the token, never the token itself. */
function tokenText(token: TokenSource | undefined): string {
  if (token === undefined) return "none";
  return "env" in token ? `in the environment variable ${token.env}` : `in the file ${token.file}`;
}

export function queueSettingsText(queue: QueueSummary): string {
  return factLines(queueSettings(queue), PLAIN_SCREEN);
}

export function targetSettingsText(target: TargetSummary): string {
  return factLines(targetSettings(target), PLAIN_SCREEN);
}
