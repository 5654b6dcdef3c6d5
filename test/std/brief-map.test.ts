import { expect, it } from "vitest";
import { BriefMap } from "../../src/std/brief-map.ts";

it("holds what a map holds while entries come and go", () => {
  const map = new BriefMap<number, string>();
  const expected = new Map<number, string>();
  for (let n = 0; n < 1000; n += 1) {
    map.set(n, `value ${n}`);
    expected.set(n, `value ${n}`);
    if (n % 3 !== 0) continue;
    const gone = n - (n % 7) * 5;
    expect(map.delete(gone)).toBe(expected.delete(gone));
  }
  expect([...map]).toEqual([...expected]);
  expect([...map.keys()]).toEqual([...expected.keys()]);
  expect([...map.values()]).toEqual([...expected.values()]);
  expect(map.size).toBe(expected.size);
  for (const key of [-1, 0, 499, 998, 999])
    expect([map.get(key), map.has(key)]).toEqual([expected.get(key), expected.has(key)]);
});

it("keeps the order of insertion when all but a few entries were deleted", () => {
  const map = new BriefMap<number, number>();
  for (let n = 0; n < 200; n += 1) map.set(n, n);
  for (let n = 0; n < 190; n += 1) map.delete(n);
  map.set(5, 5);
  expect([...map.keys()]).toEqual([190, 191, 192, 193, 194, 195, 196, 197, 198, 199, 5]);
});
