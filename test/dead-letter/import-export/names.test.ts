import { describe, expect, test } from "vitest";
import { containerOf, itemsAt } from "../../../src/dead-letter/import-export/read-json.ts";
import {
  compressionOfBytes,
  compressionOfName,
  formatOfName,
} from "../../../src/dead-letter/import-export/reading.ts";

test.each([
  ["a.json", "json", "none"],
  ["a.JSON.gz", "json", "gzip"],
  ["a.jsonl", "jsonl", "none"],
  ["a.ndjson.zst", "jsonl", "zstd"],
  ["a.csv.gz", "csv", "gzip"],
  ["folder/", "directory", "none"],
  ["a.gz", undefined, "gzip"],
  ["a", undefined, "none"],
])("the name %s says format %s and compression %s", (name, format, compression) => {
  expect(formatOfName(name)).toBe(format);
  expect(compressionOfName(name)).toBe(compression);
});

test("compressed bytes are recognised by their first bytes", () => {
  expect(compressionOfBytes(Buffer.from([0x1f, 0x8b, 8]))).toBe("gzip");
  expect(compressionOfBytes(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]))).toBe("zstd");
  expect(compressionOfBytes(Buffer.from("{}"))).toBe("none");
  expect(compressionOfBytes(Buffer.alloc(0))).toBe("none");
});

describe("the format of a file", () => {
  const of = (text: string, name = "x", isAll = true) =>
    containerOf({ bytes: Buffer.from(text), isAll }, name);

  test.each([
    ["[]", "array"],
    ["\uFEFF [\n{", "array"],
    ['{"items":[', "document"],
    ['{"total": 3, "next": null,\n "items" : [ {', "document"],
    ['{"item_id":"a"}\n{"item_id":"b"}\n', "lines"],
    ['{"item_id":"a"}', "lines"],
    ['{\n  "item_id": "a"\n}\n', "single"],
    ['{"item_id": "a", "broken\n{"item_id":"b"}\n', "lines"],
    ['{"item_data": {"items": [1]}}\n', "lines"],
    ["item_id,job_id\na,b\n", "csv"],
    ['"job_id","item_id"\n', "csv"],
    ["", "lines"],
    ["hello\n", undefined],
    ["<xml/>", undefined],
  ])("of %j is %s", (text, container) => {
    expect(of(text)).toBe(container);
  });

  test("of an object over many lines without a known end is that of a single record", () => {
    expect(of('{\n  "item_id": "a",\n', "x", false)).toBe("single");
  });

  test("a name with the extension csv decides if nothing else is recognised", () => {
    expect(of("a;b\n", "x.csv")).toBe("csv");
  });
});

test.each([
  ['{"items":[', 9],
  ['{"a":"items","b":{"items":[]},"items":[', 38],
  ['{"a":"\\"items\\":[", "items": [', 29],
  ['{"items":{}}', undefined],
  ['{"a":1}{"items":[', undefined],
  ["[]", undefined],
])("the letters of %s begin at %s", (text, at) => {
  expect(itemsAt(Buffer.from(text))).toBe(at);
});
