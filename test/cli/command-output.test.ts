import { writeFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { CommandOutput } from "../../src/cli/command-output.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const beside = { suspend: (write: () => void) => write() };
const small = (text: string) => ({
  kind: "succeeded" as const,
  stdout: { bytes: text.length, inline: Buffer.from(text) },
});

describe("what successful commands printed", () => {
  it("is written whole and in order, also where a large one comes first", async () => {
    const stdout = new PassThrough();
    const output = new CommandOutput(stdout, beside);
    const log = directory.file("1.log");
    writeFileSync(log, `== stdout (6 bytes) ==\nlarge\n== stderr (4 bytes) ==\noops\n`);
    output.print({ kind: "succeeded", stdout: { bytes: 6 }, log });
    output.print(small("second\n"));
    await output.flushed();
    output.print(small("third\n"));
    expect(stdout.read()?.toString()).toBe("large\nsecond\nthird\n");
  });

  it("is not written when nobody wants it", () => {
    const stdout = new PassThrough();
    new CommandOutput(stdout, null).print(small("hidden\n"));
    expect(stdout.read()).toBeNull();
  });

  it("leaves nothing behind on stdout, however often the runner had to wait", async () => {
    const stdout = new PassThrough({ highWaterMark: 1024 });
    const output = new CommandOutput(stdout, beside);
    const listeners = () => stdout.eventNames().map((name) => [name, stdout.listenerCount(name)]);
    const before = listeners();
    for (let times = 0; times < 3; times += 1) {
      stdout.pause();
      output.print(small("x".repeat(8 * 1024 * 1024)));
      const waiting = output.ready();
      stdout.resume();
      await waiting;
    }
    expect(listeners()).toEqual(before);
  });

  it("makes the runner wait while its reader is behind, and not when the reader has gone", async () => {
    const stdout = new PassThrough({ highWaterMark: 1024 });
    const output = new CommandOutput(stdout, beside);
    expect(output.ready()).toBeUndefined();
    output.print(small("x".repeat(8 * 1024 * 1024)));
    const waiting = output.ready();
    expect(waiting).toBeInstanceOf(Promise);
    stdout.resume();
    await waiting;
    stdout.emit("error", Object.assign(new Error("gone"), { code: "EPIPE" }));
    output.print(small("y".repeat(8 * 1024 * 1024)));
    expect(output.ready()).toBeUndefined();
  });
});
