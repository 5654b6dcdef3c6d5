import { describe, expect, test } from "vitest";
import { readBytes, readFile } from "./read-all.ts";

describe("plain lines", () => {
  test("every line is an item, with LF or CRLF, even the last one without a line break", async () => {
    const { data, error } = await readBytes("a\nb c\r\n\n\r\n  d\ne", { format: "lines" });
    expect(data).toEqual(["a", "b c", "  d", "e"]);
    expect(error).toBeUndefined();
  });

  test("a byte order mark is not part of the first line", async () => {
    expect((await readBytes("\ufeffa\n\ufeffb\n", { format: "lines" })).data).toEqual(["a", "\ufeffb"]);
  });

  test("text beyond ASCII is unchanged", async () => {
    expect((await readBytes("naïve\n日本\n🙂\n", { format: "lines" })).data).toEqual(["naïve", "日本", "🙂"]);
  });

  test.each(["", "\n", "\r\n\n", "\ufeff"])("an input without text, %j, has no batch", async (text) => {
    expect(await readBytes(text, { format: "lines" })).toMatchObject({ batchSizes: [], error: undefined });
  });
});

describe("NUL-separated records", () => {
  test("line ends and a byte order mark are part of the record", async () => {
    const { data } = await readBytes("\ufeffa\nb\0c\r\0\0d", { format: "null" });
    expect(data).toEqual(["\ufeffa\nb", "c\r", "d"]);
  });
});

describe("JSON Lines", () => {
  test("every line is a value of any type, and blank lines are skipped", async () => {
    const { data } = await readBytes('{"a":1}\n\n  \t\n[1,2]\r\n"x"\nnull\n-1.5e3', { format: "jsonl" });
    expect(data).toEqual([{ a: 1 }, [1, 2], "x", null, -1500]);
  });

  test("a key called __proto__ is data", async () => {
    const { data } = await readBytes('{"__proto__":{"x":1}}\n', { format: "jsonl" });
    expect(JSON.stringify(data)).toBe('[{"__proto__":{"x":1}}]');
  });
});

describe("a JSON array", () => {
  test("brackets, commas and quotes inside strings do not end an element", async () => {
    const values = ["],[", 'a"b\\', "\\", { "}": ["{", "\\\\]"] }, "", [], {}, [[[[]]]], null, true, 0];
    expect((await readBytes(JSON.stringify(values), { format: "json" })).data).toEqual(values);
    expect((await readBytes(JSON.stringify(values, null, "\t"), { format: "json" })).data).toEqual(values);
  });

  test("a byte order mark and white space around the array are skipped", async () => {
    expect((await readBytes("\ufeff \r\n [ 1 , 2 ] \n", { format: "json" })).data).toEqual([1, 2]);
  });

  test.each(["", " \n", "\ufeff", "[]", " [ \n ] "])("%j has no batch and no error", async (text) => {
    expect(await readBytes(text, { format: "json" })).toMatchObject({ batchSizes: [], error: undefined });
  });
});

describe("CSV", () => {
  test("rows are objects of strings, named by the header", async () => {
    const { data } = await readBytes("id,name\n1,x\n\n2,\n", { format: "csv" });
    expect(data).toEqual([
      { id: "1", name: "x" },
      { id: "2", name: "" },
    ]);
  });

  test("quoted values may contain commas, quotes and line ends", async () => {
    const { data } = await readBytes('\ufeffid,"na,me"\r\n1,"x\r\ny, ""z"""\r\n2,"\n"\n', { format: "csv" });
    expect(data).toEqual([
      { id: "1", "na,me": 'x\r\ny, "z"' },
      { id: "2", "na,me": "\n" },
    ]);
  });

  test("a column called __proto__ is data", async () => {
    const { data } = await readBytes("__proto__,a\nx,y\n", { format: "csv" });
    expect(JSON.stringify(data)).toBe('[{"__proto__":"x","a":"y"}]');
  });

  test.each(["", "\n", "id,name\n", "id,name"])("%j has no batch and no error", async (text) => {
    expect(await readBytes(text, { format: "csv" })).toMatchObject({ batchSizes: [], error: undefined });
  });
});

describe("the format of a file", () => {
  test.each([
    ["items.json", '[{"a":1}]', [{ a: 1 }]],
    ["items.jsonl", '{"a":1}', [{ a: 1 }]],
    ["items.ndjson", '{"a":1}', [{ a: 1 }]],
    ["ITEMS.CSV", "a\n1\n", [{ a: "1" }]],
    ["items.txt", '[{"a":1}]', ['[{"a":1}]']],
    ["items", '{"a":1}', ['{"a":1}']],
    ["lines.json", '\n{"a":1}\n{"a":2}\n', [{ a: 1 }, { a: 2 }]],
  ])("%s is read by its name", async (name, content, expected) => {
    expect((await readFile(name, content)).data).toEqual(expected);
  });

  test("a given format precedes the file name", async () => {
    expect((await readFile("items.json", "a\nb\n", { format: "lines" })).data).toEqual(["a", "b"]);
    expect((await readFile("items.json", '{"a":1}\n', { format: "json" })).error?.code).toBe("input_invalid");
  });
});

describe("the format of a stream", () => {
  test.each([
    ['{"a":1}\n{"a":2}\n', [{ a: 1 }, { a: 2 }]],
    ['{"a":1}', [{ a: 1 }]],
    ['\ufeff {"a":1}\r\n', [{ a: 1 }]],
    ["[1,2]", [1, 2]],
    ["[\n  {}\n]", [{}]],
    ["[ ]", []],
    ['["a"]\n', ["a"]],
    ["[INFO] started\n", ["[INFO] started"]],
    ["{x}\n", ["{x}"]],
    ["[\nx\n", ["[", "x"]],
    ["a\nb\n", ["a", "b"]],
    ['"a"\n', ['"a"']],
    ["17\n", ["17"]],
    ["a\nb\0c\0", ["a\nb", "c"]],
  ])("%j is seen from its first bytes", async (text, expected) => {
    expect((await readBytes(text)).data).toEqual(expected);
  });

  test("it is detected even if the bytes arrive one by one", async () => {
    const bytes = Buffer.from('\ufeff\n {"a":[1]}\n{"a":2}\n');
    const oneByOne = Array.from(bytes, (byte) => Buffer.from([byte]));
    expect((await readBytes(oneByOne)).data).toEqual([{ a: [1] }, { a: 2 }]);
  });

  test("an object on a very long first line is JSON Lines", async () => {
    const long = { a: "x".repeat(1_500_000) };
    const { data } = await readBytes(`  ${JSON.stringify(long)}\n{"a":"y"}\n`);
    expect(data).toEqual([long, { a: "y" }]);
  });

  test("an object over several lines is an error, not a plain line for each fragment", async () => {
    const { data, error } = await readBytes('{\n  "a": 1\n}\n');
    expect(data).toEqual([]);
    expect(error?.message).toBe("stdin:1: expected a JSON array, which starts with [, but found an object");
    expect(error?.hint).toContain("give the format");
  });
});
