/**
 * The queries of the simulated operators: filters of letters with no, one or several conditions, orders and kinds.
 */
import { type ArrivalQuery, LETTER_ORDERS, type LetterFilter, type LetterOrder } from "../../src/engine.ts";
import type { ItemState } from "../../src/item/state.ts";
import type { Chance } from "./chance.ts";
import { QUEUES } from "./world.ts";

/** Conditions on waiting letters. */
export function randomFilter(chance: Chance): LetterFilter {
  return {
    ...(chance.happens(0.1) && { queue: chance.pick(QUEUES) }),
    ...(chance.happens(0.05) && { itemIds: ["item-1", "item-2", "item-3", "item-5", "item-8"] }),
    ...randomJudgement(chance),
    ...(chance.happens(0.05) && { olderThanMs: chance.pick([0, 2000]) }),
    ...(chance.happens(0.05) && { attemptsMin: chance.pick([1, 2, 3]) }),
    ...(chance.happens(0.05) && { attemptsMax: chance.pick([1, 2, 4]) }),
    ...(chance.happens(0.1) && { text: randomText(chance) }),
  };
}

/** Texts that are words, numbers, parts of both, and neither. */
const TEXTS = [
  ...["boom", "GRÖSSE", "GRÖß", "\\", "%1_", "it's\n", "", "\nit'S", "ken", "a"],
  ...[
    "attempt 1",
    "t 2 F",
    "code 101",
    "101",
    "10",
    "01",
    "1",
    "after 30 s",
    "0 s",
    "3",
    "fa",
    "failed",
    "ed w",
  ],
];

export function randomText(chance: Chance): string {
  return chance.pick(TEXTS);
}

const STATES: readonly (readonly ItemState[])[] = [
  ["dead"],
  ["ready", "leased"],
  ["done"],
  ["discarded"],
  ["done", "discarded"],
  ["dead", "discarded", "done"],
  [],
];

/** Conditions on letters in other states too. */
export function randomStatesFilter(chance: Chance): LetterFilter {
  return { ...randomFilter(chance), ...(chance.happens(0.5) && { states: chance.pick(STATES) }) };
}

export function randomOrder(chance: Chance): LetterOrder {
  return chance.pick(LETTER_ORDERS);
}

export function randomArrivalQuery(chance: Chance, now: number): ArrivalQuery {
  return {
    bucketMs: chance.pick([60_000, 120_000, 3_600_000]),
    ...(chance.happens(0.3) && { queue: chance.pick(QUEUES) }),
    ...(chance.happens(0.2) && { since: now - chance.pick([0, 60_000, 200_000]) }),
    ...randomJudgement(chance),
  };
}

function randomJudgement(chance: Chance) {
  return {
    ...(chance.happens(0.1) && { types: chance.pick([["Timeout"], ["ClientError", "WorkerLost"]] as const) }),
    ...(chance.happens(0.1) && { classes: chance.pick([["transient"], ["permanent", "unknown"]] as const) }),
    ...(chance.happens(0.1) && {
      signatures: chance.pick([["3333333333333333"], ["1111111111111111", "none"], []] as const),
    }),
    ...(chance.happens(0.1) && { eligible: chance.happens(0.5) }),
  };
}
