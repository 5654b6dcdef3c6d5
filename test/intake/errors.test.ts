import { execFileSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { type InputFormat, requireInput } from "../../src/intake/input.ts";
import { freshDirectory, readAll, readBytes, readFile } from "./read-all.ts";

describe("a path that cannot be read", () => {
  test("a missing file is named", async () => {
    const path = join(await freshDirectory(), "absent.txt");
    const { error } = await readAll({ path });
    expect(error).toMatchObject({ code: "usage", message: `The input "${path}" does not exist.` });
  });

  test("a file in place of a folder on the way to it is named", async () => {
    const path = join((await readFile("a.txt", "x")).path, "below.txt");
    expect((await readAll({ path })).error).toMatchObject({ code: "usage" });
  });

  test("a directory is refused with a way to pass the files in it", async () => {
    const path = join(await freshDirectory(), "folder");
    await mkdir(path);
    const { error } = await readAll({ path });
    expect(error).toMatchObject({ code: "usage", message: `The input "${path}" is a directory.` });
    expect(error?.hint).toContain("find");
  });

  test.skipIf(process.getuid?.() === 0)("a file without read permission is refused", async () => {
    const path = join(await freshDirectory(), "secret.txt");
    await writeFile(path, "x");
    await chmod(path, 0);
    expect((await readAll({ path })).error).toMatchObject({
      code: "usage",
      message: expect.stringContaining(path),
    });
  });

  test("a stream that breaks delivers what it had, then reports the reason", async () => {
    async function* broken() {
      yield Buffer.from("a\nb\n");
      throw new Error("EIO: i/o error");
    }
    const stdin = Readable.from(broken(), { objectMode: false });
    const { data, error } = await readAll({ path: "-", format: "lines" }, { stdin });
    expect(data).toEqual(["a", "b"]);
    expect(error).toMatchObject({ code: "input_invalid", message: "stdin: reading failed: EIO: i/o error" });
  });
});

describe("a look at the input before it is read", () => {
  test("reads nothing from a named pipe", async () => {
    const path = join(await freshDirectory(), "pipe");
    execFileSync("mkfifo", [path]);
    await requireInput(path); // opening it would wait for a writer, and take that writer's only reader away
    const writing = writeFile(path, "a\nb\n");
    expect((await readAll({ path, format: "lines" })).data).toEqual(["a", "b"]);
    await writing;
  });

  test("refuses a missing file", async () => {
    const path = join(await freshDirectory(), "absent");
    await expect(requireInput(path)).rejects.toMatchObject({ code: "usage" });
  });
});

describe("an invalid record", () => {
  const cases: readonly [string, InputFormat, string, string, number][] = [
    [
      "broken JSON on a line",
      "jsonl",
      '{"a":1}\n\n{"a":1 "b"}\n{"a":3}\n',
      "stdin:3:8: invalid JSON: Expected",
      1,
    ],
    ["JSON Lines that are cut off", "jsonl", '{"a":1}\n{"a":', "stdin:2", 1],
    ["a broken element", "json", '[1,\n{"a":1},\n {"b":\n  2 3}, 4]', "stdin:4:5: invalid JSON: Expected", 2],
    ["a broken element on a long line", "json", '[1, {"a" 2}]', "stdin:1:10: invalid JSON: Expected", 1],
    ["brackets that do not match", "json", '[1, {"a":1], 2]', "stdin:1:11: invalid JSON", 1],
    ["a bracket too many", "json", "[1, 2}]", "stdin:1:6: invalid JSON", 1],
    ["two values without a comma", "json", "[1 2]", "stdin:1:4: invalid JSON", 0],
    ["a trailing comma", "json", "[1,\n2,\n]", "stdin:3: invalid JSON: a comma before the end", 2],
    ["a missing value", "json", "[1,\n,2]", "stdin:2: invalid JSON: a value is missing", 1],
    ["a leading comma", "json", "[,1]", "stdin:1: invalid JSON: a value is missing", 0],
    ["text after the array", "json", "[1]\n[2]", "stdin:2: invalid JSON: there is more after the end", 1],
    [
      "an array that is cut off",
      "json",
      "[1,\n2,\n",
      "stdin:3: invalid JSON: the input ends inside the array",
      2,
    ],
    [
      "an element that is cut off",
      "json",
      '[1,\n{"a":"x]',
      "stdin:2: invalid JSON: the input ends inside this",
      1,
    ],
    [
      "a cut that could be in a number",
      "json",
      "[1, 23",
      "stdin:1: invalid JSON: the input ends inside this",
      1,
    ],
    ["an object instead of an array", "json", '\n{"a":1}', "stdin:2: expected a JSON array", 0],
    ["a text instead of an array", "json", '"a"', "stdin:1: expected a JSON array", 0],
    [
      "a row that is too long",
      "csv",
      'a,b\n1,"x\r\ny"\n3,4\n5,6,7\n8,9\n',
      "stdin:5: invalid CSV: the row has",
      2,
    ],
    [
      "a row that is too short",
      "csv",
      "a,b\n1\n",
      "stdin:2: invalid CSV: the row has 1 value, but the header has 2",
      0,
    ],
    [
      "a quote that is not closed",
      "csv",
      'a,b\n1,2\n3,"4\n',
      "stdin:3: invalid CSV: the input ends inside",
      1,
    ],
    [
      "a quote left open in the middle",
      "csv",
      'a,b\r\n1,"2\r\n"\r\n\r\n3,"4\n5,6\n7,"8"\n',
      "stdin:5: invalid CSV",
      1,
    ],
    ["a quote inside a value", "csv", 'a,b\n1,x"y\n', "stdin:2: invalid CSV: a quote in the middle", 0],
    ["text after a quote", "csv", 'a,b\n1,"x"y\n', "stdin:2: invalid CSV: text after the closing quote", 0],
    ["a column named twice", "csv", "a,b,a\n1,2,3\n", 'stdin:1: the header names the column "a" twice', 0],
  ];

  test.each(cases)(
    "%s: the position is named, and the items before it are delivered",
    async (_, format, text, message, before) => {
      const { data, error } = await readBytes(text, { format });
      expect(error?.code).toBe("input_invalid");
      expect(error?.message.slice(0, message.length)).toBe(message);
      expect(error?.hint).toBeTruthy();
      expect(data).toHaveLength(before);
    },
  );

  test("the path of a file is part of the position", async () => {
    const { path, error } = await readFile("items.jsonl", "1\nx\n");
    expect(error?.message).toContain(`${path}:2: invalid JSON: `);
  });

  test("full batches before it are delivered too", async () => {
    const { batchSizes, error } = await readBytes("1\n2\n3\n4\n5\nx\n", { format: "jsonl", batchMax: 2 });
    expect(batchSizes).toEqual([2, 2, 1]);
    expect(error?.message).toContain("stdin:6");
  });
});

describe("data that JavaScript would change", () => {
  test.each(["1e400", "-1e999", "9".repeat(1001)])("the number %s is refused", async (number) => {
    const { data, error } = await readBytes(`{"id":1}\n{"id":${number}}\n`, { format: "jsonl" });
    expect(data).toEqual([{ id: 1 }]);
    expect(error?.message).toMatch(/^stdin:2: the number \S+ is too large$/);
  });

  test.each(["12345678901234567890", "-9007199254740993", "9223372036854775808"])(
    "the integer %s keeps its digits",
    async (number) => {
      const { data, error } = await readBytes(`{"id":${number}}\n`, { format: "jsonl" });
      expect(error).toBeUndefined();
      expect(data).toEqual([{ id: BigInt(number) }]);
    },
  );

  test("numbers in strings, fractions and small integers are accepted", async () => {
    const values = ["12345678901234567890", 'x"1e400', 9007199254740992, 2 ** 63, 1e21, Math.PI, 1e300];
    const { data } = await readBytes(`${JSON.stringify(values)}\n[-0,0.12345678901234567890]\n`, {
      format: "jsonl",
    });
    expect(data).toEqual([values, [-0, Number("0.12345678901234567890")]]);
  });

  test("a value that is nested too deeply is refused instead of overflowing the stack", async () => {
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const { data, error } = await readBytes(`1\n${deep}\n`, { format: "jsonl" });
    expect(data).toEqual([1]);
    expect(error?.message).toBe("stdin:2: nested more than 500 levels deep");
    expect((await readBytes(`[1,\n${deep}]`, { format: "json" })).error?.message).toContain(
      "stdin:2: nested",
    );
  });

  const latin1 = (text: string) => Buffer.from(text, "latin1");
  test.each<[InputFormat, Buffer, string]>([
    ["lines", latin1("a\ncaf\xe9\ncaf\xe8\n"), "stdin:2: not valid UTF-8"],
    ["null", latin1("a\0caf\xe9\0caf\xe8\0"), "stdin: record 2: not valid UTF-8"],
    ["jsonl", latin1('"a"\n"caf\xe9"\n'), "stdin:2: not valid UTF-8"],
    ["json", latin1('["a",\n"caf\xe9"]'), "stdin:2: not valid UTF-8"],
    ["csv", latin1("name\na\n\xe9\n"), "stdin:3: not valid UTF-8"],
  ])("%s: bytes that are not UTF-8 are refused, not replaced", async (format, bytes, message) => {
    const { data, error } = await readBytes(bytes, { format });
    expect(error).toMatchObject({ code: "input_invalid", message });
    expect(error?.hint).toContain("iconv");
    expect(data).toEqual([format === "csv" ? { name: "a" } : "a"]);
  });

  test("UTF-16 is refused", async () => {
    const bytes = Buffer.from("\ufeffa\nb\n", "utf16le");
    expect((await readBytes(bytes, { format: "lines" })).error?.message).toBe("stdin:1: not valid UTF-8");
  });
});

describe("a record of more than 64 MB", () => {
  const megabyte = Buffer.alloc(1024 * 1024, "x");

  test.each<[InputFormat, string, string]>([
    ["lines", "a\nb\n", "stdin:3: longer than 64 MB"],
    ["json", '["a",\n "', "stdin:2: longer than 64 MB"],
  ])("%s: the line is named and the rest is not read", async (format, start, message) => {
    let megabytes = 0;
    async function* endless() {
      yield Buffer.from(start);
      for (; megabytes < 100; megabytes++) yield megabyte;
    }
    const stdin = Readable.from(endless(), { objectMode: false });
    const { data, error } = await readAll({ path: "-", format }, { stdin });
    expect(data[0]).toBe("a");
    expect(error).toMatchObject({ code: "input_invalid", message });
    expect(megabytes).toBeLessThan(70);
    expect(stdin.destroyed).toBe(true);
  });
});
