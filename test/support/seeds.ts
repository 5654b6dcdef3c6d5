/** The seeds of a run. They are constant, so that a run can be repeated, unless `REDRIVE_SEED` sets another. */
import { assert } from "../../src/std/assert.ts";

export function seeds(...usual: readonly number[]): readonly number[] {
  const asked = process.env.REDRIVE_SEED;
  if (asked === undefined) return usual;
  assert(/^\d+$/.test(asked), `REDRIVE_SEED is "${asked}" and must be a whole number`);
  return [Number(asked)];
}
