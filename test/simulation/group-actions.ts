/** The steps of simulated people who manage groups: decisions, corrections, and regrouping. */
import type { Regrouped } from "../../src/engine.ts";
import { GROUP_STATES, type GroupChange, type IgnoreUntil } from "../../src/item/group.ts";
import type { Chance } from "./chance.ts";
import { randomStatesFilter } from "./filters.ts";
import { pairsOf } from "./twins.ts";
import type { Action, World } from "./world.ts";

/** The frequency of each. */
export const GROUP_ACTIONS: readonly (readonly [times: number, name: string, action: Action])[] = [
  [4, "record group", changeGroup],
  [2, "correct", correct],
  [1, "remove correction", removeCorrection],
  [3, "regroup", regroup],
];

/** Signatures of letters, one that only people create, and an unknown one. */
const SIGNATURES = [
  "1111111111111111",
  "2222222222222222",
  "3333333333333333",
  "4444444444444444",
  "5555555555555555",
  "00000000000000bb",
] as const;

const TEXTS = ["boom", "BROKEN", "GRÖSSE", "answer", "failed"] as const;

async function changeGroup({ twins, chance }: World): Promise<void> {
  const signature = chance.pick(SIGNATURES);
  const change = randomChange(chance, twins.clock.now());
  await twins.same((engine) => engine.changeGroup(signature, change));
}

function randomChange(chance: Chance, now: number): GroupChange {
  const state = chance.pick([...GROUP_STATES, "ignored"] as const);
  const ignoreUntil: IgnoreUntil = {
    ...(chance.happens(0.4) && { at: now + chance.pick([0, 2000, 10_000]) }),
    ...(chance.happens(0.4) && { count: chance.pick([1, 3, 6]) }),
    ...(chance.happens(0.4) && { perHour: chance.pick([0, 2, 5]) }),
  };
  return {
    author: "ada",
    ...(chance.happens(0.9) && { state, ...(state === "ignored" && { ignoreUntil }) }),
    ...(chance.happens(0.3) && { note: "looked at it" }),
  };
}

/** Any group into any other, sometimes in a cycle. */
async function correct({ twins, chance }: World): Promise<void> {
  const from = chance.pick(SIGNATURES);
  const to = chance.pick(SIGNATURES.filter((signature) => signature !== from));
  const text = chance.happens(0.5) ? { text: chance.pick(TEXTS) } : {};
  const correction = { from, to, ...text, pattern: `corrected to ${to}`, author: "ada" };
  await twins.same((engine) => engine.correct(correction));
}

async function removeCorrection({ twins, chance }: World): Promise<void> {
  const known = (await twins.same((engine) => engine.listCorrections()))?.oracle ?? [];
  const { from, text } = chance.pick([...known, { from: SIGNATURES[0], text: "never said" }]);
  await twins.same((engine) => engine.removeCorrection(from, text));
}

/** Like a newer algorithm: most letters keep their group, some get another. Some are listed twice. */
async function regroup({ twins, chance }: World): Promise<void> {
  const query = { ...randomStatesFilter(chance), limit: 20 };
  const page = await twins.same((engine) => engine.listLetters(query));
  const found = pairsOf(page && { oracle: page.oracle.letters, subject: page.subject.letters });
  const chosen = [...chance.some(found), ...chance.some(found)].map((pair) => ({
    pair,
    to: chance.happens(0.5)
      ? { signature: pair.oracle.errorSignature, pattern: pair.oracle.errorPattern }
      : { signature: chance.pick(SIGNATURES), pattern: "a newer pattern" },
    algorithm: chance.pick(["redrive-1", "redrive-2"]),
  }));
  await twins.same((engine, side) =>
    engine.regroup(
      chosen.map(
        ({ pair, to, algorithm }): Regrouped => ({
          letterSequence: pair[side].letterSequence,
          ...to,
          algorithm,
        }),
      ),
    ),
  );
}
