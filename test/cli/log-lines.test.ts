import { expect, test } from "vitest";
import type { Context } from "../../src/cli/context.ts";
import { LogLines } from "../../src/cli/render/log-lines.ts";
import type { Followed } from "../../src/run/follow-logs.ts";

/** Prints parts of one attempt of a job that is followed as a whole. */
function printed(...parts: readonly Followed["part"][]): readonly string[] {
  const written: string[] = [];
  const write = (text: string) => written.push(text);
  const context = {
    ...{ isTerminal: false, isJson: false, paint: { dim: (text: string) => text } },
    ...{ terminal: { stdout: { write } }, note: (text: string) => write(`${text}\n`) },
  } as unknown as Context;
  const lines = new LogLines(context, { isWholeJob: true, isRaw: false });
  for (const part of parts) lines.print({ of: "a", attempt: 1, part });
  return written.join("").trimEnd().split("\n");
}

const output = (text: string, isAgentStream = false): Followed["part"] => ({
  stream: "stdout",
  bytes: Buffer.from(text),
  isAgentStream,
});

test("output without a line end is printed before the title that follows it", () => {
  expect(printed(output("one\ntwo"), { title: "step 2" }, output("three"), { outcome: "succeeded" })).toEqual(
    [...["a | one", "a | two", "a | == step 2 ==", "a | three", "Attempt 1 of a: succeeded."]],
  );
});

test("a message of an agent that goes on after a title is not cut", () => {
  const message = JSON.stringify({
    type: "assistant",
    message: { content: [{ type: "text", text: "thinking about it" }] },
  });
  const [begin, end] = [message.slice(0, 30), message.slice(30)];
  expect(printed(output(begin, true), { title: "step 2" }, output(`${end}\n`, true))).toEqual([
    ...["a | == step 2 ==", "a | thinking about it"],
  ]);
});
