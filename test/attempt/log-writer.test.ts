import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { LogWriter } from "../../src/attempt/capture.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

it("logs that were added are all there after a flush", async () => {
  const writer = new LogWriter();
  const paths = Array.from({ length: 50 }, (_, index) => join(directory.path, `many/item-${index}/1.log`));
  for (const path of paths) expect(writer.add(path, Buffer.from(path))).toBe(true);
  expect(await writer.flush()).toBe(0);
  for (const path of paths) expect(readFileSync(path, "utf8")).toBe(path);
});

it("a disk that refuses is told to the next one, and what it refused is tried again in the end", async () => {
  const writer = new LogWriter();
  const folder = directory.file("logs");
  writeFileSync(folder, "in the way");
  expect(writer.add(`${folder}/a/1.log`, Buffer.from("a"))).toBe(true);
  expect(await writer.flush()).toBe(1);
  expect(writer.add(`${folder}/b/1.log`, Buffer.from("b"))).toBe(false);
  rmSync(folder);
  mkdirSync(folder);
  expect(await writer.flush()).toBe(0);
  expect(readFileSync(`${folder}/a/1.log`, "utf8")).toBe("a");
  expect(writer.add(`${folder}/b/1.log`, Buffer.from("b"))).toBe(true);
  await writer.flush();
});
