/** Renders items of a queue or receipts of a target: a page, and one with its history. */
import type { Attempt, Item, Progress } from "../../item/item.ts";
import type { ItemState } from "../../item/state.ts";
import { type ItemView, resultOf } from "../../queue/find-item.ts";
import { backoffToText } from "../../queue/queue-spec.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";
import { asText, type Json } from "../../std/json.ts";
import { detailsText, type Fact, type Step, table, titleOf } from "./layout.ts";
import { clean, fit, type Paint, type Screen, type Tint, timesText } from "./text.ts";

/** Labels for items and receipts. Receipts have no priority. */
const WORDS = {
  item: { id: "ITEM", queue: "Queue", data: "Data", orderingKey: "Ordering key", hasPriority: true },
  receipt: { id: "KEY", queue: "Target", data: "Receipt", orderingKey: "Order", hasPriority: false },
};
type Word = keyof typeof WORDS;

/** Renders a page of items; `now` is the time of the store's clock. */
export function itemsText(
  items: readonly Item[],
  { now, word, paint, columns }: Screen & { now: number; word: Word },
): string {
  const { id, data, hasPriority } = WORDS[word];
  return table(
    items,
    [
      { title: id, value: ({ itemId }) => itemId },
      { title: "STATE", value: ({ state }) => state, paint: (cell, { state }) => tintOf(state, paint)(cell) },
      hasPriority && { title: "PRIORITY", value: ({ priority }) => priority, giveUp: 2 },
      { title: "DUE", value: (item) => dueText(item, now), giveUp: 1 },
      { title: "TRIES", value: ({ attempts }) => attempts },
      { title: data.toUpperCase(), value: (item) => item.name ?? asText(item.data) },
    ],
    columns,
  );
}

function dueText(item: Item, now: number): string {
  if (!isWaiting(item)) return "";
  return item.dueAt > now ? `in ${formatDuration(item.dueAt - now)}` : "now";
}

function isWaiting({ state }: Item): boolean {
  return state === "ready" || state === "held";
}

function tintOf(state: ItemState, paint: Paint): Tint {
  if (state === "done") return paint.green;
  if (state === "dead") return paint.red;
  return state === "leased" ? paint.cyan : state === "ready" ? (text) => text : paint.yellow;
}

export function itemText({ item, attempts, notes }: ItemView, screen: Screen, word: Word = "item"): string {
  const { paint, columns } = screen;
  const result = resultOf(attempts);
  const whole = (value: Json) => fit(asText(value), Math.max(40, columns * 3));
  const noted = notes.map(({ at, author, text }) => clean(`${toRfc3339(at)}  ${author}: ${text}`));
  return detailsText(
    [
      { ...titleOf(item.itemId, tintOf(item.state, paint)(item.state)), facts: factsOf(item, word) },
      { title: WORDS[word].data, lines: [whole(item.data)] },
      { title: "Attempts", lines: attempts.flatMap((one) => attemptLines(one, screen)) },
      { title: "Result", lines: result === undefined ? [] : [whole(result)] },
      { title: "Notes", lines: noted },
      { title: "Next", next: item.state === "dead" ? stepsOf(item, word) : [] },
    ],
    screen,
  );
}

function stepsOf({ itemId, queue }: Item, word: Word): readonly Step[] {
  const inspect: Step = [`redrive dlq inspect ${itemId} --queue ${queue}`];
  return word === "receipt" ? [inspect, [`redrive receipts recover ${queue}`]] : [inspect];
}

function factsOf(item: Item, word: Word): readonly Fact[] {
  const { dueAt, expiresAt, revision, redriveCount, requeuedAs = [] } = item;
  const words = WORDS[word];
  return [
    [words.queue, item.queue],
    ["Name", item.name],
    ["Priority", words.hasPriority ? item.priority : undefined],
    ["Due", isWaiting(item) ? toRfc3339(dueAt) : undefined],
    ["Expires", expiresAt === undefined ? undefined : toRfc3339(expiresAt)],
    [words.orderingKey, item.orderingKey],
    ["Retries", item.retries === undefined ? undefined : String(item.retries)],
    ["Backoff", item.backoff && backoffToText(item.backoff)],
    ["Progress", item.progress && progressText(item.progress)],
    ["Revision", revision > 1 ? String(revision) : undefined],
    ["Redriven", redriveCount > 0 ? timesText(redriveCount) : undefined],
    ["Copied from", item.requeuedFrom],
    ["Requeued as", requeuedAs.join(", ")],
  ];
}

function progressText({ attempt, at, value }: Progress): string {
  return clean(`${asText(value)} (attempt ${attempt}, ${toRfc3339(at)})`);
}

function attemptLines({ number, outcome, startedAt, endedAt, failure }: Attempt, { columns }: Screen) {
  const took = endedAt === undefined ? "" : `  ${formatDuration(Math.max(0, endedAt - startedAt))}`;
  const type = failure === undefined ? "" : `  ${failure.errorType.name}`;
  const text = `#${number}  ${toRfc3339(startedAt)}  ${outcome}${took}${type}`;
  const why = failure === undefined ? [] : [`    ${fit(failure.errorMessage, Math.max(40, columns * 3))}`];
  return [fit(text, Math.max(40, columns - 2)), ...why];
}
