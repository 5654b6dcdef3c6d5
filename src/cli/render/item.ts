/** Items of a queue, or receipts of a target, as people read them: a page of them, and one with all that happened to it. */

import type { Attempt, Item } from "../../item/item.ts";
import type { ItemState } from "../../item/state.ts";
import { type ItemView, resultOf } from "../../queue/item-json.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";
import type { Json } from "../../std/json.ts";
import { asText } from "../../std/json.ts";
import type { Fact, Screen, Step } from "./details.ts";
import { detailsText, titleOf } from "./details.ts";
import { clean, fit, type Paint, type Tint } from "./paint.ts";
import { type Column, table } from "./table.ts";
import { timesText } from "./words.ts";

/** What an item and its parts are called. */
interface Words {
  readonly id: string;
  readonly queue: string;
  readonly data: string;
  readonly attempts: string;
  readonly lane: string;
  /** Whether anybody can give it one. */
  readonly hasPriority: boolean;
}

const WORDS: Readonly<Record<"item" | "receipt", Words>> = {
  item: {
    id: "ITEM",
    queue: "Queue",
    data: "Data",
    attempts: "Attempts",
    lane: "Ordering key",
    hasPriority: true,
  },
  receipt: {
    id: "KEY",
    queue: "Target",
    data: "Receipt",
    attempts: "Attempts",
    lane: "Order",
    hasPriority: false,
  },
};

export interface ItemsView extends Screen {
  readonly items: readonly Item[];
  /** By the store's clock. */
  readonly now: number;
  readonly word: keyof typeof WORDS;
}

export function itemsText({ items, now, word, paint, columns }: ItemsView): string {
  const { id, data, hasPriority } = WORDS[word];
  const priority: Column<Item> = { title: "PRIORITY", value: (item) => item.priority, giveUp: 2 };
  return table(
    items,
    [
      { title: id, value: ({ itemId }) => itemId },
      { title: "STATE", value: ({ state }) => state, paint: (cell, { state }) => tintOf(state, paint)(cell) },
      ...(hasPriority ? [priority] : []),
      { title: "DUE", value: (item) => dueText(item, now), giveUp: 1 },
      { title: "TRIES", value: ({ attempts }) => String(attempts), align: "right" },
      { title: data.toUpperCase(), value: (item) => item.name ?? asText(item.data) },
    ],
    columns,
  );
}

function dueText(item: Item, now: number): string {
  if (!isWaiting(item)) return "";
  const { dueAt } = item;
  return dueAt > now ? `in ${formatDuration(dueAt - now)}` : "now";
}

/** Only those that wait are due: for the others it is over. */
function isWaiting({ state }: Item): boolean {
  return state === "ready" || state === "held";
}

function tintOf(state: ItemState, paint: Paint): Tint {
  if (state === "done") return paint.green;
  if (state === "dead") return paint.red;
  return state === "leased" ? paint.cyan : state === "ready" ? (text) => text : paint.yellow;
}

export function itemText(
  { item, attempts, notes }: ItemView,
  screen: Screen,
  word: keyof typeof WORDS = "item",
): string {
  const { paint, columns } = screen;
  const words = WORDS[word];
  const result = resultOf(attempts);
  const whole = (value: Json) => fit(asText(value), Math.max(40, columns * 3));
  return detailsText(
    [
      { ...titleOf(item.itemId, tintOf(item.state, paint)(item.state)), facts: factsOf(item, words) },
      { title: words.data, lines: [whole(item.data)] },
      { title: words.attempts, lines: attempts.flatMap((one) => attemptLines(one, screen)) },
      { title: "Result", lines: result === undefined ? [] : [whole(result)] },
      {
        title: "Notes",
        lines: notes.map(({ at, author, text }) => clean(`${toRfc3339(at)}  ${author}: ${text}`)),
      },
      { title: "Next", next: item.state === "dead" ? stepsOf(item, word) : [] },
    ],
    screen,
  );
}

function stepsOf({ itemId, queue }: Item, word: keyof typeof WORDS): readonly Step[] {
  const inspect = { command: `redrive dlq inspect ${itemId} --queue ${queue}` };
  return word === "receipt" ? [inspect, { command: `redrive receipts recover ${queue}` }] : [inspect];
}

function factsOf(item: Item, words: Words): readonly Fact[] {
  const { dueAt, expiresAt, revision, redriveCount, requeuedAs = [] } = item;
  return [
    [words.queue, item.queue],
    ["Name", item.name],
    ["Priority", words.hasPriority ? item.priority : undefined],
    ["Due", isWaiting(item) ? toRfc3339(dueAt) : undefined],
    ["Expires", expiresAt === undefined ? undefined : toRfc3339(expiresAt)],
    [words.lane, item.lane],
    ["Revision", revision > 1 ? String(revision) : undefined],
    ["Redriven", redriveCount > 0 ? timesText(redriveCount) : undefined],
    ["Copied from", item.requeuedFrom],
    ["Requeued as", requeuedAs.join(", ")],
  ];
}

/** The reason has a line of its own. */
function attemptLines(attempt: Attempt, { columns }: Screen): readonly string[] {
  const { number, outcome, startedAt, endedAt, failure } = attempt;
  const took = endedAt === undefined ? "" : `  ${formatDuration(endedAt - startedAt)}`;
  const type = failure === undefined ? "" : `  ${failure.errorType.name}`;
  const line = fit(
    `#${number}  ${toRfc3339(startedAt)}  ${outcome}${took}${type}`,
    Math.max(40, columns - 2),
  );
  return failure === undefined
    ? [line]
    : [line, `    ${fit(failure.errorMessage, Math.max(40, columns * 3))}`];
}
