/** The seeds of a run: always the same ones, so that a run can be repeated, unless `REDRIVE_SEED` names another. */
import { assert } from "../../src/std/assert.ts";

export function seeds(...usual: readonly number[]): readonly number[] {
  const asked = process.env.REDRIVE_SEED;
  if (asked === undefined) return usual;
  assert(/^\d+$/.test(asked), `REDRIVE_SEED is "${asked}" and must be a whole number`);
  return [Number(asked)];
}
