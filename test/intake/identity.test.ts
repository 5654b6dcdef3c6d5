import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readBytes } from "./read-all.ts";

describe("an id from the content", () => {
  test("is 80 bits of SHA-256 over the canonical JSON, in base 32", async () => {
    const digest = createHash("sha256").update('{"a":[1,null],"b":"x"}').digest();
    const bits = [...digest].map((byte) => byte.toString(2).padStart(8, "0")).join("");
    const letters = (bits.slice(0, 80).match(/.{5}/g) ?? []).map((five) => Number.parseInt(five, 2));
    const expected = letters.map((index) => "0123456789abcdefghjkmnpqrstvwxyz"[index]).join("");
    expect((await readBytes('{"b":"x","a":[1,null]}', { format: "jsonl" })).ids).toEqual([expected]);
  });

  test("is the same for a line and for the same text in JSON, and differs from that of a number", async () => {
    const [line] = (await readBytes("17", { format: "lines" })).ids;
    const [text, number] = (await readBytes('["17",17]', { format: "json" })).ids;
    expect(text).toBe(line);
    expect(number).not.toBe(line);
  });

  test("true duplicates are numbered, whatever the batches", async () => {
    const text = "a\nb\na\na\nb\n";
    const { ids, read, duplicates } = await readBytes(text, { format: "lines" });
    const [a, b] = ids;
    expect(ids).toEqual([a, b, `${a}-2`, `${a}-3`, `${b}-2`]);
    expect({ read, duplicates }).toEqual({ read: 5, duplicates: 0 });
    expect((await readBytes(text, { format: "lines", batchMax: 1 })).ids).toEqual(ids);
  });

  test("100,000 equal items are all numbered", async () => {
    const { ids } = await readBytes("same\n".repeat(100_000), { format: "lines" });
    expect(new Set(ids).size).toBe(100_000);
    expect(ids.at(-1)).toBe(`${ids[0]}-100000`);
  });
});

describe("an id from a field", () => {
  test("is the scalar as text", async () => {
    const text = '{"id":"x/1"}\n{"id":2}\n{"id":true}\n{"id":1.5}\n';
    expect((await readBytes(text, { format: "jsonl", idField: "id" })).ids).toEqual([
      "x/1",
      "2",
      "true",
      "1.5",
    ]);
  });

  test("a dotted path reads nested fields, and a key with a dot precedes it", async () => {
    const text = '{"a":{"b":{"c":1}}}\n{"a.b":{"c":2}}\n{"a":{"b.c":3}}\n{"a.b.c":4,"a":{"b":{"c":9}}}\n';
    const { ids, error } = await readBytes(text, { format: "jsonl", idField: "a.b.c" });
    expect(error?.message).toContain("stdin:2");
    expect(ids).toEqual(["1"]);
    const rest = text.split("\n").slice(2).join("\n");
    expect((await readBytes(rest, { format: "jsonl", idField: "a.b.c" })).ids).toEqual(["3", "4"]);
  });

  test("works for the columns of a CSV file", async () => {
    expect((await readBytes("id,x\nA,1\nB,2\n", { format: "csv", idField: "id" })).ids).toEqual(["A", "B"]);
  });

  test("a repeated id is passed on, because the store knows whether the data differs", async () => {
    const { ids } = await readBytes('{"id":1,"x":1}\n{"id":1,"x":2}\n', { format: "jsonl", idField: "id" });
    expect(ids).toEqual(["1", "1"]);
  });

  test.each([
    ['{"x":1}', 'the record has no field "id"'],
    ['"text"', 'the record is not an object, so it has no field "id"'],
    ['[{"id":1}]', 'the record is not an object, so it has no field "id"'],
    ['{"id":null}', 'the field "id" is null, which cannot be an id'],
    ['{"id":[1]}', 'the field "id" is an array, which cannot be an id'],
    ['{"id":{}}', 'the field "id" is an object, which cannot be an id'],
    ['{"id":""}', 'the id in the field "id" is empty'],
    [`{"id":"${"é".repeat(257)}"}`, 'the id in the field "id" is longer than 512 bytes'],
    ['{"id":"a\\u0000b"}', 'the id in the field "id" contains a control character or a lone surrogate'],
    ['{"id":"\\ud83d"}', 'the id in the field "id" contains a control character or a lone surrogate'],
  ])("the record %s is refused with its line", async (record, problem) => {
    const { ids, error } = await readBytes(`{"id":"ok"}\n\n${record}\n`, { format: "jsonl", idField: "id" });
    expect(ids).toEqual(["ok"]);
    expect(error).toMatchObject({ code: "input_invalid", message: `stdin:3: ${problem}` });
  });

  test("a row of a CSV file is named by its first line", async () => {
    const text = 'id,x\r\n1,"a\r\nb"\r\n\r\n,"c\r\nd"\r\n';
    const { error } = await readBytes(text, { format: "csv", idField: "id" });
    expect(error?.message).toBe('stdin:5: the id in the field "id" is empty');
  });

  test("512 bytes and characters beyond the basic plane are allowed", async () => {
    const id = "🙂".repeat(128);
    expect((await readBytes(JSON.stringify({ id }), { format: "jsonl", idField: "id" })).ids).toEqual([id]);
  });
});

describe("distinct", () => {
  test("by content: true duplicates are dropped and counted, and the other ids do not change", async () => {
    const plain = await readBytes("a\nb\nc\n", { format: "lines" });
    const { ids, data, read, duplicates } = await readBytes("a\nb\na\nc\na\n", {
      format: "lines",
      distinct: true,
    });
    expect(data).toEqual(["a", "b", "c"]);
    expect(ids).toEqual(plain.ids);
    expect({ read, duplicates }).toEqual({ read: 5, duplicates: 2 });
  });

  test("by content with an id field: the same id with other data is kept", async () => {
    const text = '{"id":1,"x":1}\n{"x":1,"id":1}\n{"id":1,"x":2}\n';
    const { data, duplicates } = await readBytes(text, { format: "jsonl", idField: "id", distinct: true });
    expect(data).toEqual([
      { id: 1, x: 1 },
      { id: 1, x: 2 },
    ]);
    expect(duplicates).toBe(1);
  });

  test("by a field: the first record of each value is kept, whatever else differs", async () => {
    const text = '{"k":{"a":1},"x":1}\n{"k":{"a":2},"x":2}\n{"k":{"a":1},"x":3}\n{"k":{"a":"1"},"x":4}\n';
    const { data, duplicates } = await readBytes(text, { format: "jsonl", distinct: "k.a" });
    expect(data.map((record) => (record as { x: number }).x)).toEqual([1, 2, 4]);
    expect(duplicates).toBe(1);
  });

  test("by a field that a record lacks is an error, because a misspelt name would drop all but one", async () => {
    const { data, error } = await readBytes('{"k":1}\n{"x":1}\n', { format: "jsonl", distinct: "k" });
    expect(data).toHaveLength(1);
    expect(error?.message).toBe('stdin:2: the record has no field "k"');
  });

  test("false keeps everything", async () => {
    expect((await readBytes("a\na\n", { format: "lines", distinct: false })).data).toEqual(["a", "a"]);
  });

  test("the counts are reported even if the last records were all dropped", async () => {
    const { batchSizes, read, duplicates } = await readBytes("a\nb\na\nb\n", {
      format: "lines",
      distinct: true,
      batchMax: 2,
    });
    expect(batchSizes).toEqual([2, 0]);
    expect({ read, duplicates }).toEqual({ read: 4, duplicates: 2 });
  });
});
