import { expect, test } from "vitest";
import { KEY_BYTES, SeenTable } from "../../src/intake/seen-table.ts";
import { fc } from "../support/properties.ts";

test("it counts like a map, for colliding keys and repeated keys", () => {
  // Few different bytes make keys that share their leading bits and so their first slot.
  const key = fc.array(fc.constantFrom(0, 1, 128, 255), { minLength: KEY_BYTES, maxLength: KEY_BYTES });
  fc.assert(
    fc.property(fc.array(key, { maxLength: 3000, size: "max" }), (keys) => {
      const table = new SeenTable();
      const model = new Map<string, number>();
      for (const bytes of keys) {
        const expected = (model.get(String(bytes)) ?? 0) + 1;
        model.set(String(bytes), expected);
        expect(table.count(Uint8Array.from(bytes))).toBe(expected);
      }
      expect(table.size).toBe(model.size);
    }),
    { numRuns: 20 },
  );
});

test("it keeps every count while it grows", () => {
  const table = new SeenTable();
  const key = new Uint8Array(KEY_BYTES);
  const bytes = new DataView(key.buffer);
  const countAll = () => {
    const counts = new Set<number>();
    for (let index = 0; index < 20_000; index++) {
      bytes.setUint32(0, Math.imul(index, 0x9e3779b1));
      bytes.setUint32(6, index);
      counts.add(table.count(key));
    }
    return [...counts];
  };
  expect(countAll()).toEqual([1]);
  expect(countAll()).toEqual([2]);
  expect(table.size).toBe(20_000);
});

test("keys that differ in their last bit are different", () => {
  const table = new SeenTable();
  const first = new Uint8Array(KEY_BYTES);
  const second = Uint8Array.from(first);
  second[KEY_BYTES - 1] = 1;
  expect([table.count(first), table.count(second), table.count(first)]).toEqual([1, 1, 2]);
});

test("counts continue beyond what a slot can hold", () => {
  const table = new SeenTable();
  const key = new Uint8Array(KEY_BYTES).fill(7);
  const counts = Array.from({ length: 1000 }, () => table.count(key));
  expect(counts).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1));
});
