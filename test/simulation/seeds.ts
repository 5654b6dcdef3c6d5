/** The seeds of a run: the one that `REDRIVE_SEED` names, or a few fixed ones and a fresh one. */
import { randomInt } from "node:crypto";
import { assert } from "../../src/kit/assert.ts";

const FIXED_SEEDS = [1, 2, 3, 4];

export function seeds(): readonly number[] {
  const asked = process.env.REDRIVE_SEED;
  if (asked === undefined) return [...FIXED_SEEDS, randomInt(2 ** 31)];
  assert(/^\d+$/.test(asked), `REDRIVE_SEED is "${asked}" and must be a whole number`);
  return [Number(asked)];
}
