/** Items from JSON Lines and CSV: every row that is wrong is named with its line, and the others go in. */
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { type ImportItemsOptions, importItems, type RefusedRow } from "../../src/queue/import-items.ts";
import { parseTimeOption } from "../../src/queue/time-option.ts";
import { openQueueBench, QUEUE, type QueueBench } from "./queue-kit.ts";

async function importText(bench: QueueBench, text: string | Uint8Array, options: ImportItemsOptions = {}) {
  const refused: RefusedRow[] = [];
  const report = await importItems(bench.engine, QUEUE, "-", {
    stdin: Readable.from([Buffer.from(text)]),
    onRefused: (row) => refused.push(row),
    ...options,
  });
  return { report, refused };
}

const KEYED = { fields: { key: "id", priority: "p", due: "due" } } as const;

describe("JSON Lines", () => {
  it("become items, and each bad row is reported with its line and reason", async () => {
    const bench = await openQueueBench({ schema: { type: "object", required: ["id"] } });
    const lines = [
      '{"id":"a"}',
      "nope",
      "",
      '{"id":"a","again":1}',
      '{"id":"b","p":"urgent"}',
      '{"id":"c","due":"tomorrow"}',
      '{"x":1}',
      '{"id":"d","p":"HIGH","due":"10m"}',
    ];
    const { report, refused } = await importText(bench, lines.join("\n"), KEYED);
    expect(report).toEqual({ read: 7, added: 2, existing: 0, replaced: 0, refused: 5 });
    expect(refused.map(({ line, reason }) => [line, reason])).toEqual([
      [2, expect.stringMatching(/^invalid JSON/)],
      [4, "its key is already used by an item that is ready"],
      [5, 'its priority "urgent" is not one of high, normal, low'],
      [6, expect.stringMatching(/^its due time "tomorrow" is not an RFC 3339 time/)],
      [7, "it has no field id, which should contain the key"],
    ]);
    const d = await bench.item("d");
    expect(d.priority).toBe("high");
    expect(d.dueAt - (await bench.engine.now())).toBeGreaterThan(590_000);
  });

  it("report what the schema refuses", async () => {
    const bench = await openQueueBench({ schema: { type: "object", required: ["amount"] } });
    const { report, refused } = await importText(bench, '{"amount":1}\n{"n":2}\n');
    expect(report).toMatchObject({ added: 1, refused: 1 });
    expect(refused).toMatchObject([{ line: 2, reason: expect.stringMatching(/schema/) }]);
  });

  it("may be envelopes, which lose nothing", async () => {
    const bench = await openQueueBench();
    const envelopes = [
      '{"data":{"n":1},"key":"a","name":"first","priority":"low","ordering_key":"x"}',
      '{"data":2,"key":"old","lane":"y"}',
      '{"key":"b"}',
      '{"data":3,"prio":"low"}',
    ];
    const { report, refused } = await importText(bench, envelopes.join("\n"), { isEnvelope: true });
    expect(report).toMatchObject({ added: 2, refused: 2 });
    expect(refused.map(({ line }) => line)).toEqual([3, 4]);
    expect(refused[1]?.reason).toMatch(/"prio"/);
    expect(await bench.item("a")).toMatchObject({
      data: { n: 1 },
      name: "first",
      priority: "low",
      orderingKey: "x",
    });
    expect(await bench.item("old")).toMatchObject({ orderingKey: "y" }); // its former name
  });

  it("that are not UTF-8 end the reading there, and earlier rows are added", async () => {
    const bench = await openQueueBench();
    const bytes = Buffer.concat([
      Buffer.from('{"id":"a"}\n{"id":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n{"id":"c"}\n'),
    ]);
    const { report, refused } = await importText(bench, bytes, KEYED);
    expect(report).toMatchObject({
      added: 1,
      refused: 1,
      brokenOff: expect.stringMatching(/^line 2: not valid UTF-8/),
    });
    expect(refused).toMatchObject([{ line: 2 }]);
  });

  it("are added in batches, and a dry run writes nothing but finds what would be refused", async () => {
    const bench = await openQueueBench();
    const lines = Array.from({ length: 1201 }, (_, n) => JSON.stringify({ id: `k${n % 1200}` })).join("\n");
    const dry = await importText(bench, lines, { ...KEYED, isDry: true });
    expect(dry.report).toMatchObject({ read: 1201, added: 1200, refused: 1 });
    expect(dry.refused).toMatchObject([{ line: 1201, key: "k0" }]);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ total: 0 });
    const real = await importText(bench, lines, KEYED);
    expect(real.report).toEqual(dry.report);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ ready: 1200 });
  });
});

describe("CSV", () => {
  it("rows become objects of strings; a row of another length is reported with its line", async () => {
    const bench = await openQueueBench();
    const text = 'id,amount\na,007\nb\nc,"1\n2"\nd,4,5\ne,6\n';
    const { report, refused } = await importText(bench, text, { format: "csv", ...KEYED });
    expect(report).toMatchObject({ added: 3, refused: 2 });
    expect(refused).toEqual([
      { line: 3, reason: "it has 1 value, but the header has 2" },
      { line: 6, reason: "it has 3 values, but the header has 2" },
    ]);
    expect((await bench.item("a")).data).toEqual({ id: "a", amount: "007" });
    expect((await bench.item("c")).data).toEqual({ id: "c", amount: "1\n2" });
  });

  it("has numbers and flags with --typed", async () => {
    const bench = await openQueueBench();
    await importText(bench, "id,n,f,z,code\na,12.5,true,null,007\n", {
      format: "csv",
      isTyped: true,
      ...KEYED,
    });
    expect((await bench.item("a")).data).toEqual({ id: "a", n: 12.5, f: true, z: null, code: "007" });
  });

  it("with an unclosed quote ends there", async () => {
    const bench = await openQueueBench();
    const { report } = await importText(bench, 'id\na\n"b\n', { format: "csv", ...KEYED });
    expect(report).toMatchObject({ added: 1, refused: 1, brokenOff: expect.stringMatching(/quote/) });
  });
});

describe("a time from the command line", () => {
  const now = Date.UTC(2026, 0, 1);
  it.each([
    ["10m", now + 600_000],
    ["1.5h", now + 5_400_000],
    ["2026-03-01T09:00:00Z", Date.UTC(2026, 2, 1, 9)],
    ["2026-03-01T09:00:00.250+01:00", Date.UTC(2026, 2, 1, 8, 0, 0, 250)],
    ["2026-03-01 09:00:00z", Date.UTC(2026, 2, 1, 9)],
  ])("%s is read", (text, ms) => expect(parseTimeOption(text, now)).toBe(ms));

  it.each([
    "",
    "10",
    "2026",
    "2026-03-01",
    "2026-03-01T09:00:00",
    "2026-02-30T09:00:00Z",
    "2026-13-01T09:00:00Z",
    "soon",
    "-5m",
  ])("%j is not guessed at", (text) => expect(parseTimeOption(text, now)).toBeUndefined());
});
