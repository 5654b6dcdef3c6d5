/** Which items a map phase has: from any input, filtered, sorted, without repeats, from an offset, up to a limit. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canonicalJson, type Json } from "../../src/std/json.ts";
import {
  parseSortKeys,
  type SelectionRules,
  selectFrom,
  selectItems,
} from "../../src/workflow/select-items.ts";
import { fc } from "../support/properties.ts";

const ALL: SelectionRules = { sortBy: [], offset: 0 };

function sorted(text: string): Pick<SelectionRules, "sortBy"> {
  return { sortBy: parseSortKeys(text) };
}

async function dataOf(source: Json, rules: Partial<SelectionRules>): Promise<readonly Json[]> {
  return (await selectItems(source, { ...ALL, ...rules })).items.map((item) => item.data);
}

const NUMBERS = [5, 3, 9, 3, 1, 7].map((n) => ({ n }));

test("the stages run in order, and each reports what it dropped", async () => {
  const { items, counts } = await selectItems(NUMBERS, {
    filter: "item.n > 1",
    ...sorted("n DESC"),
    distinct: "n",
    offset: 1,
    maxItems: 2,
  });
  expect(items.map((item) => item.data)).toEqual([{ n: 7 }, { n: 5 }]);
  expect(counts).toEqual({ read: 6, filtered: 1, duplicates: 1, skipped: 1, beyond: 1, selected: 2 });
});

test("an offset beyond the end selects nothing, and a limit of 0 too", async () => {
  expect(await dataOf(NUMBERS, { offset: 99 })).toEqual([]);
  expect((await selectItems(NUMBERS, { ...ALL, maxItems: 0 })).counts).toMatchObject({
    beyond: 6,
    selected: 0,
  });
});

test("a filter without an answer is an error that names the item, and selects nothing", async () => {
  await expect(selectItems([{ n: 5 }, { m: 1 }], { ...ALL, filter: "item.n > 3" })).rejects.toMatchObject({
    code: "filter_invalid",
    message: expect.stringMatching(/record 2: .*no field "n".*\{"m":1\}/),
  });
  await expect(selectItems([1], { ...ALL, filter: "item >" })).rejects.toMatchObject({
    code: "filter_invalid",
  });
  await expect(selectItems([{ n: "x" }], { ...ALL, filter: "item.n" })).rejects.toMatchObject({
    code: "filter_invalid",
  });
});

describe("json_path", () => {
  test("integers beyond 2^53 are compared as numbers, and selected with all digits", async () => {
    const large = 9007199254740993n;
    const source = { list: [{ id: large }, { id: 3 }, { id: -large, part: [large] }] };
    const select = (jsonPath: string) => dataOf(source, { jsonPath });
    expect(await select("$.list[?@.id > 5]")).toEqual([{ id: large }]);
    expect(await select("$.list[?@.id < 5].part")).toEqual([[large]]);
    expect(await select("$.list[*].id")).toEqual([large, 3, -large]);
    expect(await select("$.list")).toEqual(source.list);
  });

  const words = ["abc", "xabc", "a\rc", `${"a".repeat(200)}!`];
  const document = { items: [{ a: 1 }, { a: 2 }], more: { x: [[3]] }, words };

  test.each<[string, Json[]]>([
    ["$.items[*]", [{ a: 1 }, { a: 2 }]],
    ["$.items", [{ a: 1 }, { a: 2 }]],
    ["$.items[?@.a > 1]", [{ a: 2 }]],
    ["$..a", [1, 2]],
    ["$.more.x[*]", [[3]]],
    ["$.gone[*]", []],
    ["$.items[0]", [{ a: 1 }]],
    ['$.words[?match(@, "a.c")]', ["abc"]],
    ['$.words[?search(@, "a.c")]', ["abc", "xabc"]],
    ['$.words[?match(@, "a[.]c|x.*")]', ["xabc"]],
    [`$.words[?match(@, "(a+)+")]`, []],
    [`$.words[?search(@, "(a|a)*b$")]`, []],
  ])("%s", async (jsonPath, data) => {
    expect(await dataOf(document, { jsonPath })).toEqual(data);
  });

  test.each(["$[?nope(@)]", `$[?${"!".repeat(50_001)}@.a]`, "$.words[?match(@, '(')]", "$[?length(@)]"])(
    "a path that cannot be read is a usage error (%#)",
    async (jsonPath) => {
      await expect(selectItems(document, { ...ALL, jsonPath })).rejects.toMatchObject({ code: "usage" });
    },
  );

  test("without a path the document must be an array", async () => {
    await expect(selectItems(document, ALL)).rejects.toMatchObject({
      code: "input_invalid",
      hint: expect.stringContaining("json_path"),
    });
  });
});

describe("sort_by", () => {
  test("takes item.x for x, like filter, and item for the whole item", async () => {
    expect(await dataOf([{ p: 1 }, { p: 3 }, { p: 2 }], { ...sorted("item.p DESC"), maxItems: 1 })).toEqual([
      { p: 3 },
    ]);
    expect(await dataOf(["b", "a"], sorted("item"))).toEqual(["a", "b"]);
    const own = [
      { item: { p: 2 }, p: 1 },
      { item: { p: 1 }, p: 2 },
    ];
    expect(await dataOf(own, sorted("item.p"))).toEqual([...own].reverse());
  });

  test.each(["prioritty", "item.prioritty", "name, item.prioritty"])(
    "refuses %s when no item has that field",
    async (key) => {
      const refused = dataOf([{ name: "a", priority: 1 }], sorted(key));
      await expect(refused).rejects.toThrow(/^sort_by: no item has the field "(item\.)?prioritty"\.$/);
      expect(await dataOf([], sorted(key))).toEqual([]);
    },
  );

  const mixed: Json[] = ["b", 2, null, { o: 1 }, true, "a", 10, [1], false].map((v) => ({ v }));

  test.each([
    ["v", [false, true, 2, 10, "a", "b", [1], { o: 1 }, null]],
    ["v DESC", [{ o: 1 }, [1], "b", "a", 10, 2, true, false, null]],
    ["v NULLS FIRST", [null, false, true, 2, 10, "a", "b", [1], { o: 1 }]],
    ["v desc nulls first", [null, { o: 1 }, [1], "b", "a", 10, 2, true, false]],
  ])("%s orders values of every kind", async (text, values) => {
    expect(await dataOf(mixed, sorted(text))).toEqual(values.map((v) => ({ v })));
  });

  test("a second key orders equals, and a missing field counts as null", async () => {
    const items = [{ p: 1, name: "b" }, { name: "z" }, { p: 2, name: "a" }, { p: 1, name: "a" }];
    expect(await dataOf(items, sorted("p DESC NULLS LAST, name"))).toEqual([
      { p: 2, name: "a" },
      { p: 1, name: "a" },
      { p: 1, name: "b" },
      { name: "z" },
    ]);
    expect(await dataOf([{ m: { s: 2 } }, { "m.s": 1 }], sorted("m.s"))).toEqual([
      { "m.s": 1 },
      { m: { s: 2 } },
    ]);
  });

  test("the order depends on the values alone, and equals keep theirs", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ k: fc.jsonValue(), i: fc.nat() })), async (given) => {
        const items = given.map(({ k }, i) => ({ k: k as Json, i }));
        const once = await dataOf(items, sorted("k"));
        const reversed = await dataOf([...items].reverse(), sorted("k"));
        const keys = (list: readonly Json[]) => list.map((item) => canonicalJson((item as { k: Json }).k));
        expect(keys(reversed)).toEqual(keys(once));
        expect(await dataOf(once, sorted("k"))).toEqual(once);
        const places = once as readonly { k: Json; i: number }[];
        for (const [at, item] of places.entries()) {
          const before = places[at - 1];
          if (before && canonicalJson(before.k) === canonicalJson(item.k))
            expect(before.i).toBeLessThan(item.i);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe("identity", () => {
  test("an item is identified by its content, at any position", async () => {
    const one = await selectItems([{ a: 1 }, { a: 2 }], ALL);
    const other = await selectItems([{ a: 2 }, { a: 0 }, { a: 1 }], { ...ALL, ...sorted("a") });
    expect(other.items.map((item) => item.itemId)).toEqual(
      expect.arrayContaining(one.items.map((i) => i.itemId)),
    );
  });

  test("or by its field, which must be unique", async () => {
    const { items } = await selectItems([{ p: "x" }, { p: 7 }], { ...ALL, idField: "p" });
    expect(items.map((item) => item.itemId)).toEqual(["x", "7"]);
    await expect(selectItems([{ p: "x" }, { p: "x", b: 1 }], { ...ALL, idField: "p" })).rejects.toMatchObject(
      {
        code: "input_invalid",
        message: expect.stringContaining('"x"'),
      },
    );
    expect(await dataOf([{ p: "x" }, { p: "x", b: 1 }], { idField: "p", distinct: "p" })).toEqual([
      { p: "x" },
    ]);
  });

  test("equal content is two items, unless it must be distinct", async () => {
    const twice = await selectItems(["a", "a"], ALL);
    expect(new Set(twice.items.map((item) => item.itemId)).size).toBe(2);
    expect(await dataOf(["a", "a"], { distinct: true })).toEqual(["a"]);
  });
});

describe("inputs", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "redrive-select-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each<[string, string, Json[]]>([
    ["a.json", '[{"n":1},{"n":2}]', [{ n: 1 }, { n: 2 }]],
    ["a.jsonl", '{"n":1}\n{"n":2}\n', [{ n: 1 }, { n: 2 }]],
    ["a.csv", "n\n1\n2\n", [{ n: "1" }, { n: "2" }]],
    ["a.txt", "one\ntwo\n", ["one", "two"]],
  ])("%s", async (name, text, data) => {
    writeFileSync(join(folder, name), text);
    const { items } = await selectFrom({ file: join(folder, name) }, ALL);
    expect(items.map((item) => item.data)).toEqual(data);
  });

  test("a document with json_path, from a file and from a command", async () => {
    writeFileSync(join(folder, "doc.json"), '{"list":[1,2]}');
    const rules = { ...ALL, jsonPath: "$.list[*]" };
    const fromFile = await selectFrom({ file: join(folder, "doc.json") }, rules);
    const stream = Readable.from([Buffer.from('{"list":'), Buffer.from("[1,2]}")]);
    const fromCommand = await selectFrom({ stream, name: "the command" }, rules);
    expect(fromFile.items.map((item) => item.data)).toEqual([1, 2]);
    expect(fromCommand).toEqual(fromFile);
  });

  test("lines of a command without json_path", async () => {
    const stream = Readable.from([Buffer.from("a\nb\n")]);
    expect((await selectFrom({ stream, name: "the command" }, ALL)).counts.selected).toBe(2);
  });

  test("an invalid document is reported with its position", async () => {
    writeFileSync(join(folder, "bad.json"), '{"list": [1,\n2 3]}');
    await expect(
      selectFrom({ file: join(folder, "bad.json") }, { ...ALL, jsonPath: "$.list" }),
    ).rejects.toMatchObject({ code: "input_invalid", message: expect.stringContaining("bad.json:2") });
  });
});
