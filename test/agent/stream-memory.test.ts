/** A stream of 100 MB leaves no more in memory than one of 1 MB, for each format and whatever fills it. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { AgentStream } from "../../src/agent/agent-stream.ts";
import { CLAUDE, CODEX, GEMINI, LINES, linesOf, OPENCODE, QWEN } from "./streams.ts";

const MIB = 1024 * 1024;
/** What may differ by chance: caches, and objects that live until the next collection. */
const SLACK = 8 * MIB;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** The ids of messages, calls and items differ in each round, as in a long session. */
function round(messages: readonly unknown[], n: number): string {
  return linesOf(messages).replaceAll(/"(id|callID|tool_id|uuid)":"([^"]+)"/g, `"$1":"$2-${n}"`);
}

/** Bytes in use after a stream with this much between its first and last line. */
function bytesUsed(messages: readonly unknown[], bytes: number): number {
  const stream = new AgentStream({});
  stream.push(Buffer.from(linesOf(messages.slice(0, 1))));
  for (let [n, sent] = [0, 0]; sent < bytes; n += 1) {
    const chunk = Buffer.from(round(messages.slice(1, -1), n));
    stream.push(chunk);
    sent += chunk.length;
  }
  stream.push(Buffer.from(linesOf(messages.slice(-1))));
  collect();
  const { heapUsed, external } = process.memoryUsage();
  expect(stream.report().end).toBe("success"); // and the stream is alive until here
  return heapUsed + external;
}

test.each(Object.entries({ CLAUDE, QWEN, CODEX, GEMINI, OPENCODE, LINES }))(
  "100 MB of %s need no more memory than 1 MB",
  { timeout: 120_000 },
  (_name, messages) => {
    bytesUsed(messages, MIB); // compiles the code
    const small = bytesUsed(messages, MIB);
    expect(bytesUsed(messages, 100 * MIB) - small).toBeLessThan(SLACK);
  },
);
