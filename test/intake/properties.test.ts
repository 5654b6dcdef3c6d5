/** What holds for any data: the way it is written down and cut into chunks changes neither values nor ids. */
import { expect, test } from "vitest";
import type { Json } from "../../src/std/json.ts";
import { fc } from "../support/properties.ts";
import { cut, readBytes } from "./read-all.ts";

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
const indent = fc.constantFrom("", "  ", "\t", "\n\n");

/** Values as JSON can carry them, written once and read back, so that -0 and the like are out of the way. */
const values = fc
  .array(fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }), { maxLength: 20 })
  .map((array) => JSON.parse(JSON.stringify(array)) as Json[]);

test("an array, compact or pretty, and JSON Lines give the same values and ids, however the bytes are split", async () => {
  await fc.assert(
    fc.asyncProperty(values, indent, sizes, async (array, space, pieces) => {
      const asArray = Buffer.from(JSON.stringify(array, null, space));
      const asLines = Buffer.from(array.map((value) => `${JSON.stringify(value)}\n`).join(""));
      const whole = await readBytes(asArray, { format: "json" });
      const pieced = await readBytes(cut(asArray, pieces), { format: "json", batchMax: 3 });
      const lines = await readBytes(cut(asLines, pieces), { format: "jsonl" });
      expect(whole.error).toBeUndefined();
      expect(whole.data).toEqual(array);
      for (const other of [pieced, lines]) {
        expect(other.data).toEqual(whole.data);
        expect(other.ids).toEqual(whole.ids);
      }
    }),
  );
});

test("ids do not depend on the order of keys", async () => {
  await fc.assert(
    fc.asyncProperty(values, async (array) => {
      const original = await readBytes(JSON.stringify(array), { format: "json" });
      const reversed = await readBytes(JSON.stringify(array.map(reverseKeys)), { format: "json" });
      expect(reversed.ids).toEqual(original.ids);
    }),
  );
});

function reverseKeys(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(reverseKeys);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reverseKeys(inner)]),
  );
}

test("ids do not depend on position: a shuffled input has the same ids", async () => {
  const shuffled = fc
    .array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 30 })
    .chain((lines) => fc.tuple(fc.constant(lines), fc.shuffledSubarray(lines, { minLength: lines.length })));
  await fc.assert(
    fc.asyncProperty(shuffled, async ([lines, others]) => {
      const one = await readBytes(lines.join("\n"), { format: "lines" });
      const other = await readBytes(others.join("\n"), { format: "lines" });
      expect(other.ids.toSorted()).toEqual(one.ids.toSorted());
      expect(new Set(one.ids).size).toBe(lines.length);
    }),
  );
});

test("different values have different ids and equal ones share the hash", async () => {
  await fc.assert(
    fc.asyncProperty(values, async (array) => {
      const { ids } = await readBytes(JSON.stringify(array), { format: "json" });
      const hashes = new Set(ids.map((id) => id.slice(0, 16)));
      const contents = new Set(array.map((value) => JSON.stringify(sortKeys(value))));
      expect(hashes.size).toBe(contents.size);
    }),
  );
});

function sortKeys(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(sortKeys);
  const pairs = Object.entries(value).map(([key, inner]) => [key, sortKeys(inner)] as const);
  return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
}

test("lines and NUL-separated records are unchanged, however the bytes are split", async () => {
  const text = fc.string({ unit: "grapheme", minLength: 1 }).filter((line) => !/[\r\n\0\ufeff]/.test(line));
  await fc.assert(
    fc.asyncProperty(
      fc.array(text),
      fc.constantFrom("\n", "\r\n", "\0"),
      sizes,
      async (lines, end, pieces) => {
        const bytes = Buffer.from(lines.map((line) => line + end).join(""));
        const format = end === "\0" ? "null" : "lines";
        expect((await readBytes(cut(bytes, pieces), { format })).data).toEqual(lines);
      },
    ),
  );
});

test("CSV with quotes, commas and line breaks in the values is read unchanged", async () => {
  const value = fc.string({
    unit: fc.constantFrom('"', ",", "\n", "\r\n", " ", "é", "a", ";", "\t"),
    maxLength: 8,
  });
  const rows = fc.array(fc.record({ id: value, "a,b": value, 'q"': value }), { maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(rows, fc.constantFrom("\n", "\r\n"), sizes, async (records, end, pieces) => {
      const header = ["id", "a,b", 'q"'] as const;
      const lines = [header, ...records.map((record) => header.map((name) => record[name]))];
      const text = lines.map((fields) => fields.map(quote).join(",") + end).join("");
      const { data, error } = await readBytes(cut(Buffer.from(text), pieces), { format: "csv" });
      expect(error).toBeUndefined();
      expect(data).toEqual(records);
    }),
  );
});

function quote(value: string): string {
  return `"${value.replaceAll('"', '""')}"`;
}

test("no input makes the reader crash: it returns items or a RedriveError", async () => {
  const soup = fc.string({
    unit: fc.constantFrom(...'[]{},:"\\ \n\r\0a1-e.', "é", "\ufeff", "null"),
    maxLength: 40,
  });
  const format = fc.constantFrom("json", "jsonl", "csv", "lines", "null", undefined);
  await fc.assert(
    fc.asyncProperty(soup, format, sizes, async (text, name, pieces) => {
      // Whether a stream is NUL-separated is seen from what has arrived, which the pieces decide.
      fc.pre(name !== undefined || !text.includes("\0"));
      const options = name === undefined ? {} : { format: name };
      const whole = await readBytes(text, options);
      const pieced = await readBytes(cut(Buffer.from(text), pieces), options);
      expect(pieced).toMatchObject({ data: whole.data, ids: whole.ids, error: whole.error });
      if (name === "json" && whole.error === undefined && text.trim() !== "" && text.trim() !== "\ufeff") {
        expect(JSON.parse(text.replace(/^\ufeff/, ""))).toEqual(whole.data);
      }
    }),
    { numRuns: 1000 },
  );
});
