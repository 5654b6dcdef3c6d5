import { Readable, Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { previewLines, previewText } from "../../src/triage/preview.ts";
import { signatureOf } from "../../src/triage/signature.ts";
import { fc } from "../support/properties.ts";

async function patternsOf(...chunks: readonly (string | Buffer)[]): Promise<readonly string[]> {
  const buffers = chunks.map((chunk) => (typeof chunk === "string" ? Buffer.from(chunk) : chunk));
  const found: string[] = [];
  for await (const signatures of previewLines(Readable.from(buffers)))
    found.push(...signatures.map((one) => one.pattern));
  return found;
}

describe("a preview", () => {
  test("plain lines and JSON Lines with text may be mixed, and each line has one result", async () => {
    expect(
      await patternsOf('error: 3 left\r\n{"text": "cannot open /a/b"}\n{"x": 1}\n{broken\n\nlast 7'),
    ).toEqual([
      "Unknown::error: <num> left",
      "Unknown::cannot open <path>",
      'Unknown::{"<str>": <num>}',
      "Unknown::{broken",
      "Unknown::(no message)",
      "Unknown::last <num>",
    ]);
  });

  test("a text of several lines is read as output: its error line and its frames count", async () => {
    const text = "starting\nTypeError: no cart\n    at total (/a/cart.js:3:4)\n";
    expect(await patternsOf(`${JSON.stringify({ text })}\n`)).toEqual([
      "Unknown::TypeError: no cart (in total)",
    ]);
    expect(previewText("starting\nerror: 3 left\nbye\n").pattern).toBe("Unknown::error: <num> left");
  });

  test("a line has the signature of a failure with that message", async () => {
    const failure = { errorType: { name: "Unknown" as const }, errorMessage: "cannot open /a/b" };
    expect(previewText("cannot open /a/b")).toEqual(signatureOf(failure));
  });

  test("the chunks of the input do not matter, and no bytes are refused", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.nat(200), async (bytes, at) => {
        const whole = await patternsOf(Buffer.from(bytes));
        expect(await patternsOf(Buffer.from(bytes.slice(0, at)), Buffer.from(bytes.slice(at)))).toEqual(
          whole,
        );
      }),
    );
  });

  test("an endless line is cut, and later lines have results", async () => {
    const megabyte = Buffer.alloc(1024 * 1024, "x");
    const [long, next, ...more] = await patternsOf(megabyte, megabyte, megabyte, "\nnext 1\n");
    expect(long?.length).toBeLessThan(5000);
    expect(next).toBe("Unknown::next <num>");
    expect(more).toEqual([]);
  });
});

/** What the command prints for an input, to a reader that is slower than it. */
async function printed(input: string, json: boolean): Promise<string> {
  const written: Buffer[] = [];
  const stdout = new Writable({
    highWaterMark: 16,
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk);
      setImmediate(done);
    },
  });
  const stdin = Readable.from([Buffer.from(input)]);
  const terminal = { version: "0", env: {}, cwd: "/", stdin, stdout, stderr: stdout };
  expect(await runCli(["groups", "preview", "-", ...(json ? ["--json"] : [])], terminal)).toBe(0);
  return Buffer.concat(written).toString();
}

describe("groups preview", () => {
  test("with --json it prints one object per line", async () => {
    const lines = (await printed("error: 3 left\nerror: 4 left\n", true)).trim().split("\n");
    const [one, other] = lines.map((line) => JSON.parse(line) as object);
    expect(one).toEqual({
      signature: previewText("error: 3 left").signature,
      pattern: "Unknown::error: <num> left",
    });
    expect(other).toEqual(one);
  });

  test("without --json it prints the signature and the pattern", async () => {
    expect(await printed("error: 3 left", false)).toMatch(/^[0-9a-f]{16} {2}Unknown::error: <num> left\n$/);
  });

  test("it prints a line for each of many lines", async () => {
    const input = Array.from({ length: 20_000 }, (_, at) => `cannot open /a/${at}\n`).join("");
    expect((await printed(input, false)).trim().split("\n")).toHaveLength(20_000);
  });
});
