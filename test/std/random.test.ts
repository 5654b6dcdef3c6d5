import { expect, test } from "vitest";
import { nameSeries, randomName, toBase32 } from "../../src/std/random.ts";
import { fc } from "../support/properties.ts";
import { seededRandom } from "../support/seeded-random.ts";

test("base 32 takes five bits per character, the first bits first", () => {
  expect(toBase32(new Uint8Array([0b00000_000, 0b01_00010_0, 0b0011_0010, 0b0_00101_00, 0b110_11111]))).toBe(
    "0123456z",
  );
});

test("every byte changes the base 32 text, and only known characters are used", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 5, maxLength: 5 }), (bytes) => {
      const text = toBase32(bytes);
      expect(text).toMatch(/^[0-9a-hjkmnp-tv-z]{8}$/);
      const read = [...text].reduce((sum, char) => sum * 32n + BigInt(ALPHABET.indexOf(char)), 0n);
      expect(read).toBe(BigInt(`0x${Buffer.from(bytes).toString("hex")}`));
    }),
  );
});
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

test("a random name has the requested length, and no two are equal", () => {
  const names = Array.from({ length: 1000 }, () => randomName(12));
  expect(new Set(names).size).toBe(1000);
  expect(names.every((name) => name.length === 12)).toBe(true);
});

test("the same seed gives the same numbers, another seed others", () => {
  const draw = (seed: number) => Array.from({ length: 50 }, seededRandom.call(null, seed));
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
});

test("seeded numbers are in [0, 1) and spread over it", () => {
  const random = seededRandom(1);
  const numbers = Array.from({ length: 10_000 }, random);
  expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
  const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  expect(mean).toBeGreaterThan(0.48);
  expect(mean).toBeLessThan(0.52);
});

test("the names of a series increase, and no two series have the same", () => {
  const [one, other] = [nameSeries(), nameSeries()];
  const names = Array.from({ length: 40_000 }, one);
  expect(names).toEqual([...names].sort());
  expect(new Set([...names, ...Array.from({ length: 40_000 }, other)]).size).toBe(80_000);
  expect(names.every((name) => /^[0-9a-hjkmnp-tv-z]{16}$/.test(name))).toBe(true);
});

test("a series that is exhausted continues with another prefix", () => {
  const next = nameSeries();
  const beginnings = new Set<string>();
  for (let count = 0; count <= 32 ** 4; count += 1) beginnings.add(next().slice(0, 12));
  expect(beginnings.size).toBe(2);
});
