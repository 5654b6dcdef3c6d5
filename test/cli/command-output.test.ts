import { fstatSync, openSync, unlinkSync, writeFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { CommandOutput } from "../../src/cli/render/command-output.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { until } from "../support/until.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const notes: string[] = [];
const beside = { suspend: (write: () => void) => write(), note: (line: string) => notes.push(line) };
const item = { itemId: "a" };
const small = (text: string) => ({
  kind: "succeeded" as const,
  stdout: { bytes: text.length, inline: Buffer.from(text) },
});

describe("the output of successful commands", () => {
  it("is written completely and in order, even if a large one comes first", async () => {
    const stdout = new PassThrough();
    const output = new CommandOutput(stdout, beside);
    const log = directory.file("1.log");
    writeFileSync(log, `== stdout (6 bytes) ==\nlarge\n== stderr (4 bytes) ==\noops\n`);
    output.print(item, { kind: "succeeded", stdout: { bytes: 6 }, log });
    output.print(item, small("second\n"));
    await output.flushed();
    output.print(item, small("third\n"));
    expect(stdout.read()?.toString()).toBe("large\nsecond\nthird\n");
  });

  it("is copied from its file, byte for byte, if the log has only parts of it", async () => {
    const path = directory.file("whole");
    const bytes = Buffer.alloc(3_000_001, "line\n");
    writeFileSync(path, bytes);
    const fd = openSync(path, "r");
    unlinkSync(path);
    const stdout = new PassThrough();
    const chunks: Buffer[] = [];
    stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    const output = new CommandOutput(stdout, beside);
    output.print(item, { kind: "succeeded", stdout: { bytes: bytes.length, fd } });
    output.print(item, small("next\n"));
    await output.flushed();
    expect(Buffer.concat(chunks).equals(Buffer.concat([bytes, Buffer.from("next\n")]))).toBe(true);
    await until("the file is closed", () => !isOpen(fd));
  });

  it("is reported as incomplete if the disk was full", () => {
    const output = new CommandOutput(new PassThrough(), beside);
    output.print(item, { kind: "succeeded", stdout: { bytes: 9, lost: "The disk was full." } });
    expect(notes).toEqual(["The output of a may be incomplete. The disk was full."]);
  });

  it("is not written if nobody wants it", () => {
    const stdout = new PassThrough();
    new CommandOutput(stdout, null).print(item, small("hidden\n"));
    expect(stdout.read()).toBeNull();
  });

  it("is complete on stdout, however often the runner had to wait", async () => {
    const stdout = new PassThrough({ highWaterMark: 1024 });
    const output = new CommandOutput(stdout, beside);
    const listeners = () => stdout.eventNames().map((name) => [name, stdout.listenerCount(name)]);
    const before = listeners();
    for (let times = 0; times < 3; times += 1) {
      stdout.pause();
      output.print(item, small("x".repeat(8 * 1024 * 1024)));
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
    output.print(item, small("x".repeat(8 * 1024 * 1024)));
    const waiting = output.ready();
    expect(waiting).toBeInstanceOf(Promise);
    stdout.resume();
    await waiting;
    stdout.emit("error", Object.assign(new Error("gone"), { code: "EPIPE" }));
    output.print(item, small("y".repeat(8 * 1024 * 1024)));
    expect(output.ready()).toBeUndefined();
  });
});

function isOpen(fd: number): boolean {
  try {
    fstatSync(fd);
    return true;
  } catch {
    return false;
  }
}
