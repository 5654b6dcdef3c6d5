/**
 * Runs all kinds of torture in parallel for a given time, in rounds with their own seeds, and counts the strikes. The
 * command is `npm run torture -- --campaign`; `campaign-report.mjs` writes the results.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { KINDS } from "./campaign-kinds.mjs";
import { chanceOf } from "./chance.mjs";

const ROUND = fileURLToPath(new URL("campaign-round.mjs", import.meta.url));

/**
 * `options`: `seed`, `minutes`, `strikes` (ends after this many), `lanes` (how many kinds run at a time), `roundMinutes`,
 * `kinds` (names; default all), `note`, `onRound` (called with each result). Returns the results of all rounds.
 */
export async function campaign(options) {
  const {
    seed,
    minutes = 10,
    strikes = Infinity,
    lanes = 3,
    roundMinutes = 2,
    kinds = Object.keys(KINDS),
  } = options;
  const { note = () => undefined, onRound = () => undefined } = options;
  const chance = chanceOf(seed);
  const until = Date.now() + minutes * 60_000;
  const results = [];
  const waiting = [];
  const struck = () => results.reduce((sum, result) => sum + result.strikes, 0);
  const isOver = () => Date.now() >= until || struck() >= strikes;
  /** Every kind runs once before kinds are drawn again. */
  const nextKind = () => {
    if (waiting.length === 0) waiting.push(...turns(kinds, chance));
    return waiting.pop();
  };
  const runLane = async () => {
    while (!isOver()) {
      const round = { kind: nextKind(), seed: chance.between(1, 2 ** 31 - 1) };
      const leftMinutes = (until - Date.now()) / 60_000;
      const report = await runRound({
        ...round,
        minutes: Math.min(roundMinutes, leftMinutes),
      });
      const result = { ...round, ...report, strikes: sum(Object.values(report.faults ?? {})) };
      results.push(result);
      note(
        `${round.kind}, seed ${round.seed}: ${result.strikes} strikes, ${report.violations.length} violations`,
      );
      onRound(result);
    }
  };
  await Promise.all(Array.from({ length: lanes }, runLane));
  return results;
}

/** How long the last items and the final checks of a round may take. */
const END_MS_MAX = 600_000;

/** Runs in its own process, so that one kind does not block the others. */
function runRound(round) {
  return new Promise((resolve) => {
    const child = fork(ROUND, [JSON.stringify(round)]);
    const timer = setTimeout(() => child.kill("SIGTERM"), round.minutes * 60_000 + END_MS_MAX);
    let report = {
      violations: [`the round ${JSON.stringify(round)} hung or broke: it has no report`],
      figures: {},
      faults: {},
    };
    child.once("message", (message) => (report = message));
    child.once("exit", () => {
      clearTimeout(timer);
      resolve(report);
    });
  });
}

/** Each kind as often as its weight, in random order. */
function turns(kinds, chance) {
  return kinds
    .flatMap((kind) => Array.from({ length: KINDS[kind].weight }, () => ({ kind, at: chance.random() })))
    .toSorted((one, other) => one.at - other.at)
    .map(({ kind }) => kind);
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
