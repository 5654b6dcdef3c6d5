import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { PassThrough, Readable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { openInput } from "../../src/intake/input.ts";
import { type IntakeBatch, readItems } from "../../src/intake/read-items.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { readBytes, readFile } from "./read-all.ts";

/** Endless bytes that count how many were pulled. */
function endless(text: string) {
  const chunk = Buffer.from(text.repeat(Math.ceil(8192 / text.length)));
  const pulled = { bytes: 0 };
  const stream = new Readable({
    highWaterMark: 16 * 1024,
    read() {
      pulled.bytes += chunk.length;
      this.push(chunk);
    },
  });
  return { stream, pulled };
}

describe("back-pressure", () => {
  test.each([
    ["lines" as const, "some line\n"],
    ["jsonl" as const, '{"a":1}\n'],
    ["csv" as const, "a,b\n"],
    ["null" as const, "name\0"],
  ])("%s: an endless stream is pulled no further than the batches that are taken", async (format, text) => {
    const { stream, pulled } = endless(text);
    const batches = readItems({ path: "-", format }, { stdin: stream, batchMax: 100 });
    await batches.next();
    // Time for a reader that runs ahead to do so.
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(pulled.bytes).toBeLessThanOrEqual(64 * 1024);
    const before = pulled.bytes;
    for (let count = 0; count < 200; count++) await batches.next();
    expect(pulled.bytes).toBeGreaterThan(before);
    await batches.return(undefined);
    expect(stream.destroyed).toBe(true);
  });

  test("an endless JSON array is read element by element", async () => {
    const { stream, pulled } = endless('{"a":[1,2]},');
    const stdin = new PassThrough({ highWaterMark: 1024 });
    stdin.write("[");
    stream.pipe(stdin);
    const batches = readItems({ path: "-" }, { stdin, batchMax: 10 });
    const first = await batches.next();
    expect(first.value?.items[0]?.data).toEqual({ a: [1, 2] });
    expect(pulled.bytes).toBeLessThanOrEqual(64 * 1024);
    await batches.return(undefined);
    stream.destroy();
  });
});

describe("batches", () => {
  test("hold at most batchMax items and count the records so far", async () => {
    const reads: number[] = [];
    const stdin = Readable.from([Buffer.from("1\n2\n3\n4\n5\n")]);
    for await (const batch of readItems({ path: "-", format: "jsonl" }, { stdin, batchMax: 2 })) {
      reads.push(batch.read);
      expect(batch.items.length).toBeLessThanOrEqual(2);
    }
    expect(reads).toEqual([2, 4, 5]);
  });

  test("hold 500 items by default", async () => {
    const { batchSizes } = await readBytes("x\n".repeat(1200), { format: "lines" });
    expect(batchSizes).toEqual([500, 500, 200]);
  });

  test("are delivered when a slow pipe pauses", async () => {
    const stdin = new PassThrough();
    const batches = readItems({ path: "-" }, { stdin });
    stdin.write("first\nsec");
    expect(dataOf(await batches.next())).toEqual(["first"]);
    stdin.end("ond\n");
    expect(dataOf(await batches.next())).toEqual(["second"]);
    expect((await batches.next()).done).toBe(true);
  });
});

function dataOf(next: IteratorResult<IntakeBatch>) {
  return next.done ? [] : next.value.items.map((item) => item.data);
}

describe("an abort", () => {
  test("ends a read that waits for a silent pipe, with the signal's reason", async () => {
    const stdin = new PassThrough();
    const stop = new AbortController();
    const batches = readItems({ path: "-" }, { stdin, signal: stop.signal });
    stdin.write("first\n");
    await batches.next();
    const waiting = batches.next();
    stop.abort(new Error("interrupted"));
    await expect(waiting).rejects.toThrow("interrupted");
    expect(stdin.destroyed).toBe(true);
  });

  test("before the start reads nothing", async () => {
    const { stream, pulled } = endless("x\n");
    const batches = readItems(
      { path: "-" },
      { stdin: stream, signal: AbortSignal.abort(new Error("interrupted")) },
    );
    await expect(batches.next()).rejects.toThrow("interrupted");
    expect(pulled.bytes).toBe(0);
  });

  test("that never happens changes nothing", async () => {
    const { data } = await readFile("a.txt", "a\nb\n", { signal: new AbortController().signal });
    expect(data).toEqual(["a", "b"]);
  });
});

test("a stream of strings is read like a stream of bytes", async () => {
  const stdin = Readable.from(["naï", "ve\n"]);
  const batches = readItems({ path: "-", format: "lines" }, { stdin });
  expect((await batches.next()).value?.items[0]?.data).toBe("naïve");
});

test("a file much larger than a read is complete and in order", async () => {
  const lines = Array.from({ length: 60_000 }, (_, index) => `line number ${index}`);
  const { data } = await readFile("large.txt", lines.join("\n"));
  expect(data).toEqual(lines);
  const array = await readFile("large.json", JSON.stringify(lines));
  expect(array.data).toEqual(lines);
});

test.runIf(process.platform === "linux")(
  "a file that is opened and never read is not kept open",
  async () => {
    const directory = new TemporaryDirectory();
    onTestFinished(() => directory.remove());
    const path = directory.file("items");
    writeFileSync(path, "a\nb\n");
    const { chunks } = await openInput(path, Readable.from([]));
    const openFiles = readdirSync("/proc/self/fd").flatMap((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return []; // the one that lists them
      }
    });
    expect(openFiles).not.toContain(path);
    const read: Buffer[] = [];
    for await (const chunk of chunks) read.push(chunk);
    expect(Buffer.concat(read).toString()).toBe("a\nb\n");
  },
);
