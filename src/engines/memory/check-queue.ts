/** The invariants of queues: lanes, counters, gates, and items that were made from others. See check.ts. */
import type { Problem } from "../../engine.ts";
import { gateName } from "../../item/document.ts";
import type { EventType } from "../../item/event.ts";
import { isJsonObject } from "../../kit/json.ts";
import { isBlocked } from "./line.ts";
import type { Queue, Row, Store } from "./store.ts";

/** An empty list is a clean bill. */
export function checkQueues(store: Store): readonly Problem[] {
  const queues = [...store.queues.values()];
  return [
    ...queues.flatMap(checkLanes),
    ...queues.flatMap((queue) => checkCounters(store, queue)),
    ...store.rows.flatMap(checkOrigin),
    ...checkGates(store),
  ];
}

/** A lane is worked one at a time, and knows its items in the order of their age. */
function checkLanes(queue: Queue): readonly Problem[] {
  const rows = [...queue.byId.values()];
  const problem = (lane: string, what: string) => ({ rule: "one-lane", detail: `lane ${lane} ${what}` });
  return [...new Set(rows.flatMap(({ lane }) => lane ?? [])), ...queue.lanes.keys()].flatMap((lane) => {
    const own = rows.filter((row) => row.lane === lane);
    const leased = own.filter(({ state }) => state === "leased");
    const first = own.filter((row) => row.state === "ready" && !isBlocked(row));
    return [
      ...(leased.length + first.length > 1 ? [problem(lane, "lets more than one item through")] : []),
      ...(same(queue.lanes.get(lane) ?? [], own) ? [] : [problem(lane, "does not know its items")]),
    ];
  });
}

/** What events tell of, under the name of its counter. */
const TOLD: Readonly<Record<string, EventType>> = {
  "attempts.succeeded": "attempt_succeeded",
  "attempts.failed": "attempt_failed",
  "attempts.released": "attempt_released",
  "attempts.lost": "attempt_lost",
  retries: "attempt_retrying",
  parks: "attempt_parked",
  store_write_failed: "store_write_failed",
};

function checkCounters({ events, operations }: Store, { name, counters }: Queue): readonly Problem[] {
  const own = events.filter(({ queue }) => queue === name);
  const dead = own.filter(({ type, attempt }) => type === "dlq_item_added" && attempt !== undefined);
  const ended = (end: "succeeded" | "failed") =>
    [...operations.values()]
      .filter(({ asked }) => asked.queue === name)
      .reduce((sum, operation) => sum + operation[end], 0);
  const sums = {
    ...Object.fromEntries(
      Object.entries(TOLD).map(([counter, told]) => [
        counter,
        own.filter(({ type }) => type === told).length,
      ]),
    ),
    "redrives.succeeded": ended("succeeded"),
    "redrives.failed": ended("failed"),
  };
  const deaths = [...counters].filter(([counter]) => counter.startsWith("dead."));
  const problem = (counter: string, counted: number, sum: number) =>
    counted === sum
      ? []
      : [{ rule: "counters", detail: `queue "${name}" counts ${counted} ${counter}, there were ${sum}` }];
  return [
    ...Object.entries(sums).flatMap(([counter, sum]) => problem(counter, counters.get(counter) ?? 0, sum)),
    ...problem(
      "dead",
      deaths.reduce((sum, [, value]) => sum + value, 0),
      dead.length,
    ),
  ];
}

/** Two items name each other, and the one that was made is the younger. */
function checkOrigin(row: Row): readonly Problem[] {
  const { origin, offspring } = row;
  const isFirst =
    !origin || (origin.ref < row.ref && origin.queue === row.queue && origin.offspring.includes(row));
  const areOurs = offspring.every((made) => made.origin === row);
  return isFirst && areOurs
    ? []
    : [{ rule: "made-from", detail: `item "${row.itemId}" and the one that it was made from disagree` }];
}

function checkGates({ documents, queues }: Store): readonly Problem[] {
  const gates = new Set([...queues.keys()].map(gateName));
  return [...documents].flatMap(([name, { body }]) =>
    !name.startsWith(gateName("")) || (gates.has(name) && isJsonObject(body))
      ? []
      : [{ rule: "gate", detail: `document ${name} is no gate of a queue` }],
  );
}

function same(a: readonly Row[], b: readonly Row[]): boolean {
  return a.length === b.length && a.every((row, place) => row === b[place]);
}
