import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keepOutput } from "../../src/attempt/capture.ts";
import type { Captured, Ended } from "../../src/attempt/launch.ts";
import { tailText } from "../../src/attempt/output.ts";
import { OutputWatch } from "../../src/attempt/output-watch.ts";
import { fc } from "../support/properties.ts";
import { temporaryFolder } from "./launch-kit.ts";

test("small output is in the tails and, under titles, in the log", async () => {
  const place = placeOf(temporaryFolder());
  const kept = await keepOutput({ ...place, ended: endedWith(inline("one\ntwo"), inline("oops\n")) });
  expect(kept).toEqual({ stdoutTail: "one\ntwo", stderrTail: "oops\n", log: place.logPath });
  expect(logOf(place)).toBe("== stdout (7 bytes) ==\none\ntwo\n== stderr (5 bytes) ==\noops\n");
});

test("a stream without output has no section", async () => {
  const place = placeOf(temporaryFolder());
  await keepOutput({ ...place, ended: endedWith({ bytes: 0 }, inline("x")) });
  expect(logOf(place)).toBe("== stderr (1 bytes) ==\nx\n");
});

test("without output there is neither a log nor a folder", async () => {
  const folder = temporaryFolder();
  const kept = await keepOutput({ ...placeOf(folder), ended: endedWith({ bytes: 0 }, { bytes: 0 }) });
  expect(kept).toEqual({ stdoutTail: "", stderrTail: "" });
  expect(readdirSync(folder)).toEqual([]);
});

test("large output is copied from its file, and the file is removed", async () => {
  const place = placeOf(temporaryFolder());
  const text = "0123456789".repeat(100_000);
  const kept = await keepOutput({ ...place, ended: endedWith(inFile(place.stdoutPath, text), inline("e")) });
  expect(logOf(place)).toBe(`== stdout (1000000 bytes) ==\n${text}\n== stderr (1 bytes) ==\ne\n`);
  expect(kept.stdoutTail).toBe(`… ${text.slice(-8192)}`);
  expect(existsSync(place.stdoutPath)).toBe(false);
});

test("above the limit the log keeps both ends and reports what is missing", async () => {
  const place = placeOf(temporaryFolder());
  const ended = endedWith(inFile(place.stdoutPath, `${"a".repeat(50)}${"b".repeat(900)}${"c".repeat(50)}`), {
    bytes: 0,
  });
  const kept = await keepOutput({ ...place, ended, logBytesMax: 100, tailBytesMax: 10 });
  expect(logOf(place)).toBe(
    `== stdout (1000 bytes) ==\n${"a".repeat(50)}\n== 900 bytes dropped ==\n${"c".repeat(50)}\n`,
  );
  expect(kept.stdoutTail).toBe(`… ${"c".repeat(10)}`);
});

test("a log that cannot be written is a store failure, and the output is kept", async () => {
  const folder = temporaryFolder();
  const place = placeOf(folder);
  writeFileSync(join(folder, "logs"), "a file where the folder should be");
  const ended = endedWith(inFile(place.stdoutPath, "x".repeat(9000)), { bytes: 0 });
  await expect(keepOutput({ ...place, ended })).rejects.toMatchObject({ code: "store_unavailable" });
  expect(statSync(place.stdoutPath).size).toBe(9000);
});

test("a tail does not begin in the middle of a character", () => {
  expect(tailText(Buffer.from("aé🙂b"), 5)).toBe("… 🙂b");
  expect(tailText(Buffer.from("aé🙂b"), 4)).toBe("… b");
  expect(tailText(Buffer.from("aé🙂b"), 8)).toBe("aé🙂b");
});

test("a tail replaces invalid text, drops NUL and keeps other control characters", () => {
  expect(tailText(Buffer.from([0x61, 0xff, 0x00, 0x1b, 0x09]), 100)).toBe("a\ufffd\u001b\t");
});

test("a tail of valid text is always the end of that text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 4, max: 40 }), (text, bytesMax) => {
      const clean = text.replaceAll("\0", "");
      const tail = tailText(Buffer.from(clean), bytesMax);
      if (Buffer.byteLength(clean) <= bytesMax) return tail === clean;
      const rest = tail.slice(2);
      return tail.startsWith("… ") && clean.endsWith(rest) && Buffer.byteLength(rest) > bytesMax - 4;
    }),
  );
});

test("a running file that grows too large is truncated, and the log has its start, the loss and its end", async () => {
  const place = placeOf(temporaryFolder());
  const watch = new OutputWatch({ logBytesMax: 100 });
  watch.add(place.stdoutPath);
  watch.add(place.stderrPath); // never opened by its command
  writeFileSync(place.stdoutPath, "a".repeat(200));
  watch.tick();
  expect(statSync(place.stdoutPath).size).toBe(200);
  appendFileSync(place.stdoutPath, "b");
  watch.tick();
  expect(statSync(place.stdoutPath).size).toBe(0);
  appendFileSync(place.stdoutPath, "c".repeat(70_000));
  watch.tick();
  appendFileSync(place.stdoutPath, "the end");
  const cuts = { stdout: watch.take(place.stdoutPath), stderr: watch.take(place.stderrPath) };
  const ended = endedWith({ bytes: 7, inline: Buffer.from("the end") }, { bytes: 0 });
  const kept = await keepOutput({ ...place, ended, cuts, logBytesMax: 100, tailBytesMax: 10 });
  expect(cuts.stderr).toBeUndefined();
  expect(kept.stdoutTail).toBe("… cccthe end");
  const recent = "c".repeat(65_536);
  const lost = 151 + 70_000 - 65_536;
  expect(logOf(place)).toBe(
    `== stdout (70208 bytes) ==\n${"a".repeat(50)}\n` +
      `== at least ${lost} bytes dropped while the command ran ==\n${recent}the end\n`,
  );
  expect(existsSync(`${place.stdoutPath}.head`)).toBe(false);
});

test("output that must be complete is cut only when the disk is full", () => {
  const place = placeOf(temporaryFolder());
  writeFileSync(place.stdoutPath, "a".repeat(300));
  const sizeUnder = (roomBytesMin: number) => {
    const watch = new OutputWatch({ logBytesMax: 100, roomBytesMin });
    watch.add(place.stdoutPath, { isWantedWhole: true });
    watch.tick();
    return statSync(place.stdoutPath).size;
  };
  expect(sizeUnder(1)).toBe(300);
  expect(sizeUnder(Number.MAX_SAFE_INTEGER)).toBe(0);
});

test("a file that was truncated after its command had ended is not counted twice", async () => {
  const place = placeOf(temporaryFolder());
  const watch = new OutputWatch({ logBytesMax: 10 });
  watch.add(place.stdoutPath);
  const ended = endedWith(inFile(place.stdoutPath, "x".repeat(300)), { bytes: 0 });
  watch.tick();
  const cuts = { stdout: watch.take(place.stdoutPath) };
  await keepOutput({ ...place, ended, cuts, logBytesMax: 10 });
  expect(logOf(place)).toContain("== stdout (300 bytes) ==\nxxxxx\n");
});

function placeOf(folder: string) {
  mkdirSync(folder, { recursive: true });
  return {
    logPath: join(folder, "logs", "item", "1.log"),
    stdoutPath: join(folder, "out"),
    stderrPath: join(folder, "err"),
  };
}

function logOf(place: { readonly logPath: string }): string {
  return readFileSync(place.logPath, "utf8");
}

function inline(text: string): Captured {
  return { bytes: Buffer.byteLength(text), inline: Buffer.from(text) };
}

function inFile(path: string, text: string): Captured {
  writeFileSync(path, text);
  return { bytes: text.length };
}

function endedWith(stdout: Captured, stderr: Captured): Ended {
  return { exitCode: 0, signal: null, stdout, stderr, durationMs: 1 };
}
