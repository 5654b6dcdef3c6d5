/** The logs of successes: many in one segment, found by the path that each would have. */
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { findLog, restoreLog, segmentsOf } from "../../src/attempt/log-segments.ts";
import { LogWriter } from "../../src/attempt/log-writer.ts";
import { readRange } from "../../src/attempt/output.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const HOUR_MS = 3_600_000;

function textOf(path: string): string | null {
  const found = findLog(path);
  return found === null ? null : readRange(found.path, found.from, found.bytes).toString();
}

it("added logs are found, in one segment and without their own files", () => {
  const job = directory.file("many");
  const writer = new LogWriter(() => 0);
  const paths = Array.from({ length: 5000 }, (_, index) => join(job, `item-${index}/${1 + (index % 3)}.log`));
  for (const path of paths) expect(writer.add(path, Buffer.from(`log of ${path}\n`))).toBe(true);
  expect(writer.close()).toBe(0);
  expect(paths.filter((path) => textOf(path) !== `log of ${path}\n`)).toEqual([]);
  expect(paths.filter((path) => existsSync(path))).toEqual([]);
  expect(segmentsOf(job)).toMatchObject([{ logs: 5000 }]);
  expect(findLog(join(job, "item-1/3.log"))).toBeNull();
  expect(findLog(join(job, "item-5000/1.log"))).toBeNull();
});

it("logs can be read before the writer is closed", () => {
  const job = directory.file("early");
  const writer = new LogWriter(() => 0);
  writer.add(join(job, "a/1.log"), Buffer.from("first"));
  writer.write();
  expect(textOf(join(job, "a/1.log"))).toBe("first");
  writer.add(join(job, "b/1.log"), Buffer.from("second"));
  writer.write();
  expect(textOf(join(job, "b/1.log"))).toBe("second");
  expect(writer.close()).toBe(0);
});

it("a log with its own file is found there", () => {
  const job = directory.file("own");
  const writer = new LogWriter(() => 0);
  writer.add(join(job, "a/1.log"), Buffer.from("in the segment"));
  writer.close();
  restoreLog(join(job, "a/1.log"));
  expect(readFileSync(join(job, "a/1.log"), "utf8")).toBe("in the segment");
  writeFileSync(join(job, "a/1.log"), "in the file");
  expect(textOf(join(job, "a/1.log"))).toBe("in the file");
});

it("a new segment begins after an hour, so that old ones can be deleted", () => {
  const job = directory.file("aging");
  let now = 0;
  const writer = new LogWriter(() => now);
  for (const name of ["a", "b", "c"]) {
    writer.add(join(job, name, "1.log"), Buffer.from(name));
    writer.write();
    now += HOUR_MS + 1;
  }
  expect(writer.close()).toBe(0);
  expect(segmentsOf(job)).toHaveLength(3);
  expect(["a", "b", "c"].map((name) => textOf(join(job, name, "1.log")))).toEqual(["a", "b", "c"]);
});

it("a record that a killed process has written in part is ignored", () => {
  const job = directory.file("torn");
  const writer = new LogWriter(() => 0);
  writer.add(join(job, "a/1.log"), Buffer.from("whole"));
  writer.close();
  const [segment] = segmentsOf(job);
  appendFileSync(segment?.index ?? "", Buffer.alloc(11, 7));
  appendFileSync(segment?.log ?? "", "=== b/1.log (5 bytes) ===\nwh");
  expect(textOf(join(job, "a/1.log"))).toBe("whole");
  expect(findLog(join(job, "b/1.log"))).toBeNull();
});

it("a full disk is reported to the next attempt, and what it refused is written again at the end", () => {
  const job = directory.file("refusing");
  const writer = new LogWriter(() => 0);
  writeFileSync(job, "in the way");
  expect(writer.add(join(job, "a/1.log"), Buffer.from("a"))).toBe(true);
  writer.write();
  expect(writer.add(join(job, "b/1.log"), Buffer.from("b"))).toBe(false);
  expect(writer.close()).toBe(1);
  rmSync(job);
  expect(writer.close()).toBe(0);
  expect(textOf(join(job, "a/1.log"))).toBe("a");
  expect(writer.add(join(job, "b/1.log"), Buffer.from("b"))).toBe(true);
  expect(writer.close()).toBe(0);
  expect(readdirSync(job)).toEqual([".segments"]);
});
