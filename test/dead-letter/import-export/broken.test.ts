/** Files that are wrong in some way: what is wrong is told with its place, and all else comes in. */
import { writeFileSync } from "node:fs";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { zstdCompress } from "../../../src/dead-letter/import-export/compress.ts";
import { exportLetters } from "../../../src/dead-letter/import-export/export.ts";
import { importLetters } from "../../../src/dead-letter/import-export/import.ts";
import { completeLetter } from "../../../src/dead-letter/import-export/imported-letters.ts";
import { namesIn } from "../letter-kit.ts";
import { ExchangeKit } from "./exchange-kit.ts";

let kit: ExchangeKit;
beforeEach(() => {
  kit = new ExchangeKit();
});
afterEach(() => kit.remove());

const letter = (id: string, more: object = {}) => ({
  item_id: id,
  item_data: { id },
  job_id: "j",
  failure_history: [{ error_type: "Timeout", error_message: "too slow" }],
  ...more,
});
const line = (id: string, more: object = {}) => `${JSON.stringify(letter(id, more))}\n`;

async function zstdCompressed(text: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of zstdCompress(Readable.from([Buffer.from(text)]))) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function take(name: string, content: string | Buffer, options = {}) {
  writeFileSync(kit.path(name), content);
  const { report, documents } = await kit.imported(name, options);
  return {
    ...report,
    ids: documents.map(({ item_id }) => item_id),
    refused: report.refused.map(({ where, why }) => [where.replace(`${kit.directory.path}/`, ""), why]),
  };
}

describe("JSON Lines", () => {
  test("an invalid line does not affect other lines", async () => {
    const { ids, refused } = await take("x.jsonl", `${line("a")}{"item_id": nonsense\n\n${line("b")}`);
    expect(ids).toEqual(["a", "b"]);
    expect(refused).toEqual([["x.jsonl:2", expect.stringMatching(/^invalid JSON: /)]]);
  });

  test("an invalid first line does not hide the others", async () => {
    const { ids, refusedCount } = await take("x.jsonl", `{"item_id": "x\n${line("b")}`);
    expect([ids, refusedCount]).toEqual([["b"], 1]);
  });

  test("a line that is not UTF-8 is reported by its number", async () => {
    const bytes = Buffer.concat([
      Buffer.from(line("a")),
      Buffer.from([0xff, 0xfe, 0x0a]),
      Buffer.from(line("b")),
    ]);
    expect(await take("x.jsonl", bytes)).toMatchObject({
      ids: ["a", "b"],
      refused: [["x.jsonl:2", "not valid UTF-8"]],
    });
  });

  test("a last line without a line break is read, and a byte order mark is skipped", async () => {
    expect((await take("x.jsonl", `\uFEFF${line("a")}${line("b").trimEnd()}`)).ids).toEqual(["a", "b"]);
  });

  test("lines are counted over many chunks", async () => {
    const many = Array.from({ length: 2000 }, (_, n) => line(`i${n}`, { reason: "x".repeat(200) })).join("");
    const { imported, refused } = await take("x.jsonl", `${many}{\n${line("z")}`);
    expect(imported).toBe(2001);
    expect(refused).toMatchObject([["x.jsonl:2001", expect.anything()]]);
  });

  test("an integer beyond 2^53 keeps its digits, and is not a string", async () => {
    const letter =
      '{"item_id":"a","failure_count":1,"item_data":[12345678901234567891,"12345678901234567891",7]}';
    writeFileSync(kit.path("x.jsonl"), `${letter}\n`);
    const engine = await kit.store();
    expect(await kit.import(engine, "x.jsonl")).toMatchObject({ imported: 1 });
    expect(await kit.documents(engine)).toMatchObject([
      { item_data: [12345678901234567891n, "12345678901234567891", 7] },
    ]);
  });
});

describe("letters of the wrong shape", () => {
  test.each([
    ["item_id is not an id", { item_id: 7 }],
    ["item_id is not an id", { item_id: "a\u0000b" }],
    ["item_id is not an id", { item_id: "x".repeat(600) }],
    ["job_id is not an id", { job_id: "a\nb" }],
    ["failure_history is not a list of objects", { failure_history: "none" }],
    ["failure_history[0].timestamp is not a time", { failure_history: [{ timestamp: "yesterday" }] }],
    ["failure_history[1].attempt_number is not a whole", { failure_history: [{}, { attempt_number: "2" }] }],
    ["failure_history[0].duration_ms is not a number of", { failure_history: [{ duration_ms: -1 }] }],
    ["failure_count is not a whole number", { failure_count: -1 }],
    ["last_attempt is not a time", { last_attempt: 17 }],
    ["state is not a state", { state: "purple" }],
    ["reprocess_eligible is neither true nor false", { reprocess_eligible: "yes" }],
    ["notes is not a list of objects", { notes: {} }],
    ["it has neither item_id nor item_data", { item_id: "", item_data: undefined }],
  ])("one is refused because %s", async (why, wrong) => {
    const { ids, refused } = await take("x.jsonl", `${line("a", wrong)}${line("b")}`);
    expect(ids).toEqual(["b"]);
    expect(refused).toEqual([["x.jsonl:1", expect.stringContaining(why)]]);
  });

  test("null means that a field is missing", async () => {
    expect((await take("x.jsonl", line("a", { worktree_artifacts: null, state: null }))).ids).toEqual(["a"]);
  });

  test("the first hundred refusals are reported, and all are counted", async () => {
    const { refused, refusedCount, imported } = await take("x.jsonl", `${"7\n".repeat(250)}${line("a")}`);
    expect([refused.length, refusedCount, imported]).toEqual([100, 250, 1]);
  });
});

describe("a JSON array or document", () => {
  test("an element that is not JSON is reported by its line, and the others are imported", async () => {
    const { ids, refused } = await take("x.json", `[\n${line("a")},\n{"item_id": oops},\n${line("b")}]`);
    expect(ids).toEqual(["a", "b"]);
    expect(refused).toEqual([["x.json:4", expect.stringMatching(/^invalid JSON: /)]]);
  });

  test("a truncated array yields its complete elements, and is reported", async () => {
    const whole = `{"items":[\n${line("a")},\n${line("b")}],"total":2}`;
    expect(await take("x.json", whole)).toMatchObject({ ids: ["a", "b"], refusedCount: 0 });
    expect(await take("x.json", whole.slice(0, -40))).toMatchObject({
      ids: ["a"],
      refused: [["x.json:4", "invalid JSON: the input ends inside this element"]],
    });
    expect(await take("x.json", whole.slice(0, -3))).toMatchObject({
      ids: ["a", "b"],
      refused: [["x.json", expect.stringContaining("truncated")]],
    });
  });

  test("the output of `dlq list --json` can be imported, wherever its letters are in it", async () => {
    const document = { total: 9, next: null, items: [letter("a"), letter("b")] };
    expect((await take("x.json", JSON.stringify(document, null, 2))).ids).toEqual(["a", "b"]);
    expect((await take("y.json", JSON.stringify(document))).ids).toEqual(["a", "b"]);
    expect((await take("z.json", JSON.stringify({ items: [], total: 0 }))).ids).toEqual([]);
  });

  test("a file with a single letter is imported", async () => {
    expect((await take("x.json", JSON.stringify(letter("a"), null, 2))).ids).toEqual(["a"]);
  });

  test("it is split into letters wherever its chunks end", async () => {
    const many = Array.from({ length: 3000 }, (_, n) => letter(`i${n}`, { reason: '[{\\"x,'.repeat(20) }));
    expect(await take("x.json", JSON.stringify({ items: many, total: 3000 }))).toMatchObject({
      imported: 3000,
      refusedCount: 0,
    });
  });
});

describe("CSV", () => {
  test("a row that is too short does not affect other rows", async () => {
    const rows = "item_id,failure_count,job_id\na,1,j\nb,2\nc,3,j\n";
    expect(await take("x.csv", rows)).toMatchObject({
      ids: ["a", "c"],
      refused: [["x.csv:3", "the row has 2 cells, but the header has 3"]],
    });
  });

  test("an unclosed quote ends the reading, after the rows before it", async () => {
    const { ids, refused } = await take("x.csv", 'item_id,reason\na,1\nb,"2\nc,3\n');
    expect(ids).toEqual(["a"]);
    expect(refused).toEqual([["x.csv:3", expect.stringMatching(/^invalid CSV: /)]]);
  });
});

describe("a compressed file", () => {
  test("is recognised by its bytes, whatever its name", async () => {
    expect((await take("x.txt", gzipSync(line("a")))).ids).toEqual(["a"]);
  });

  test("that is truncated yields its complete records, and is reported", async () => {
    const many = Array.from({ length: 5000 }, (_, n) => line(`i${n}`, { reason: String(n * 7919) })).join("");
    const { imported, refused } = await take("x.jsonl.gz", gzipSync(many).subarray(0, -20_000));
    expect(imported).toBeGreaterThan(500);
    expect(refused).toEqual([["x.jsonl.gz", "The gzip data is damaged: it is truncated."]]);
  });

  test("that expands to one huge line is refused at the length limit of a record", async () => {
    const bomb = gzipSync(
      Buffer.concat([
        Buffer.from(line("a")),
        Buffer.alloc(70 * 1024 * 1024, 0x20),
        Buffer.from(`\n${line("b")}`),
      ]),
    );
    expect(bomb.length).toBeLessThan(1_000_000);
    expect(await take("x.jsonl.gz", bomb)).toMatchObject({
      ids: ["a", "b"],
      refused: [["x.jsonl.gz:2", "longer than 64 MB"]],
    });
  });
});

describe("input that cannot be read at all", () => {
  test("an unknown format is an error", async () => {
    await expect(take("x.txt", "hello\n")).rejects.toMatchObject({ code: "input_invalid" });
  });

  test("it is an error if it is compressed too, and the next file is read normally", async () => {
    const [hello, good] = [zstdCompressed("hello\n"), zstdCompressed(line("a"))];
    await expect(take("x.zst", await hello)).rejects.toMatchObject({ code: "input_invalid" });
    expect((await take("y.zst", await good)).ids).toEqual(["a"]);
  });

  test("a folder without letters is an error", async () => {
    await expect(kit.imported(".")).rejects.toMatchObject({ code: "input_invalid" });
  });

  test("a missing file is an error", async () => {
    await expect(kit.imported("nothing.json")).rejects.toMatchObject({ code: "usage" });
  });

  test("an empty file has no letters, which is not an error", async () => {
    expect(await take("x.jsonl", "")).toMatchObject({ imported: 0, refusedCount: 0 });
  });
});

test("a stream is read like a file", async () => {
  const engine = await kit.store();
  const stdin = Readable.from([Buffer.from(line("a"))]);
  expect(await importLetters(engine, "-", { stdin })).toMatchObject({ imported: 1 });
});

test("a named format precedes the detected one", async () => {
  const receipt = { receipt: { a: 1 }, item_id: "x", attempts: 2, failure_count: 1 };
  writeFileSync(kit.path("x.json"), JSON.stringify([receipt]));
  expect((await kit.imported("x.json", { format: "receipts" })).documents).toMatchObject([
    { item_data: { a: 1 } },
  ]);
  expect((await kit.imported("x.json")).documents).toMatchObject([{ item_id: "x", item_data: null }]);
});

describe("a dry run of an import", () => {
  test("reports what would be done, and changes nothing", async () => {
    const engine = await kit.store();
    writeFileSync(kit.path("one.jsonl"), line("a") + line("b"));
    await kit.import(engine, "one.jsonl");
    const before = await kit.documents(engine);
    const longer = { failure_history: [{ attempt_number: 1 }, { attempt_number: 2 }] };
    writeFileSync(
      kit.path("two.jsonl"),
      line("a") + line("b", longer) + line("c") + line("c") + line("d", { job_id: "k" }),
    );
    const dry = await kit.import(engine, "two.jsonl", { isDry: true });
    expect(dry).toMatchObject({ imported: 2, extended: 1, existing: 2 });
    expect(await kit.documents(engine)).toEqual(before);
    expect(await engine.findJob("k")).toBeNull();
    const { imported, extended, existing, jobs } = await kit.import(engine, "two.jsonl");
    expect(dry).toMatchObject({ imported, extended, existing, jobs });
  });
});

describe("an export", () => {
  async function* someLetters(count: number, error?: Error) {
    for (let n = 0; n < count; n++) yield completeLetter(letter(`i${n}`), 0);
    if (error) throw error;
  }

  test("that fails half-way keeps the existing file, and leaves no draft", async () => {
    for (const name of ["x.json", "x.jsonl.gz", "x.csv.zst"]) {
      writeFileSync(kit.path(name), "before");
      const exporting = exportLetters(someLetters(1000, new Error("no more")), { path: kit.path(name) });
      await expect(exporting).rejects.toThrow("no more");
    }
    expect(namesIn(kit.directory.path)).toEqual(["x.csv.zst", "x.json", "x.jsonl.gz"]);
    expect((await take("x.json", "[]")).imported).toBe(0);
  });

  test("to a missing folder is an error", async () => {
    const exporting = exportLetters(someLetters(1), { path: kit.path("no/where.json") });
    await expect(exporting).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining("its folder does not exist"),
    });
  });

  test("of one file into a folder is refused, and a folder cannot be written to stdout", async () => {
    await expect(
      exportLetters(someLetters(1), { path: kit.directory.path, format: "csv" }),
    ).rejects.toMatchObject({ code: "usage" });
    await expect(exportLetters(someLetters(1), { path: "-", format: "directory" })).rejects.toMatchObject({
      code: "usage",
    });
  });
});
