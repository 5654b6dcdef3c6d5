/** Queues as people read them: a table of all, one with its settings, and what to do next. */
import type { Pause } from "../item/job.ts";
import { toRfc3339 } from "../kit/clock.ts";
import { formatDuration } from "../kit/duration.ts";
import type { QueueSummary } from "../queue/look.ts";
import { backoffToText, durationToText, outageToText, rateToText } from "../queue/setting-text.ts";
import { clean, type Paint } from "./paint.ts";
import { thousands } from "./progress-rate.ts";
import { type Column, table } from "./table.ts";

interface View {
  readonly paint: Paint;
  readonly columns: number;
}

export function queuesText(queues: readonly QueueSummary[], { paint, columns }: View): string {
  if (queues.length === 0) return "No queues yet. `redrive queue create NAME` makes one.\n";
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

export function queueText(queue: QueueSummary, view: View): string {
  const { paint } = view;
  const status = tintOf(queue, paint)(statusOf(queue));
  const sections = [
    `${paint.bold(clean(queue.name))}  ${status}\n${factLines(factsOf(queue), paint)}`,
    `${paint.bold("Items")}\n${factLines(countsOf(queue), paint)}`,
    `${paint.bold("Settings")}\n${settingsText(queue, paint)}`,
    workersText(queue, paint),
    nextText(queue, paint),
  ];
  return sections.filter(Boolean).join("\n");
}

export type Fact = readonly [name: string, value: string];

export function factsOf(queue: QueueSummary): readonly Fact[] {
  const { spec, pause, breaker, parkedUntil, parkedFor, createdAt } = queue;
  const facts: Fact[] = [];
  if (spec.description !== undefined) facts.push(["For", spec.description]);
  facts.push(["Made", toRfc3339(createdAt)]);
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

/** What items are that wait, are worked and are done. */
const ITEM_WORDS = { ready: "Ready", leased: "Leased", done: "Done" };

export function countsOf({ counts, oldestReadyMs }: QueueSummary, words = ITEM_WORDS): readonly Fact[] {
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
export function settingsText({ spec }: QueueSummary, paint?: Paint): string {
  const { policy, rate, expiresAfterMs, schema } = spec;
  const facts: Fact[] = [
    ["max-retries", String(policy.maxAttempts - 1)],
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
    facts.push(["breaker", `${failureThreshold} in a row pause it for ${durationToText(timeoutMs)}`]);
  }
  if (rate) facts.push(["rate", rateToText(rate.perSecond)]);
  if (expiresAfterMs !== undefined) facts.push(["expires-after", durationToText(expiresAfterMs)]);
  if (schema !== undefined) facts.push(["schema", "yes; --json shows it"]);
  return factLines(facts, paint);
}

export function factLines(facts: readonly Fact[], paint?: Paint): string {
  const widest = Math.max(...facts.map(([name]) => name.length), 9);
  const tint = paint?.dim ?? ((text: string) => text);
  return facts.map(([name, value]) => `  ${tint(name.padEnd(widest))}  ${clean(value)}\n`).join("");
}

const WORKERS_SHOWN_MAX = 10;

export function workersText({ workers }: QueueSummary, paint: Paint): string {
  if (workers.length === 0) return "";
  const lines = workers
    .slice(0, WORKERS_SHOWN_MAX)
    .map(({ holder, leased }) => `  ${clean(holder)}  ${leased} leased\n`);
  const more = workers.length - WORKERS_SHOWN_MAX;
  return `${paint.bold("Workers")}\n${lines.join("")}${more > 0 ? `  and ${more} more\n` : ""}`;
}

function nextText({ name, pause, workers, counts }: QueueSummary, paint: Paint): string {
  const steps: string[] = [];
  if (pause) steps.push(`redrive queue resume ${name}`);
  if (counts.total === 0) steps.push(`redrive queue add ${name} --data '{"a": 1}'`);
  if (workers.length === 0 && counts.ready > 0) steps.push(`redrive worker --queue ${name} -- COMMAND`);
  if (counts.dead > 0) steps.push(`redrive dlq list ${name}`, `redrive dlq retry ${name}`);
  if (steps.length === 0) return "";
  return `${paint.bold("Next")}\n${steps.map((step) => `  ${paint.cyan(step)}\n`).join("")}`;
}
