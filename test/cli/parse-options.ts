/** Parses options as a command would, for tests of single options. */
import { PassThrough } from "node:stream";
import { Command as Parser } from "commander";
import { addCommand, command, type Given, type OptionSpec } from "../../src/cli/command.ts";

type Options = Readonly<Record<string, OptionSpec>>;

/** Returns the parsed values. Rejects with the error that a user would see. */
export async function parseOptions<Set extends Options>(
  options: Set,
  ...words: string[]
): Promise<Given<Set>> {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const terminal = { version: "0", env: {}, cwd: "/", ...streams };
  const found: Readonly<Record<string, unknown>>[] = [];
  const test = { name: "test", ...command({ summary: "Test.", examples: [], run: async () => 0 }), options };
  const run = async (_: unknown, given: Readonly<Record<string, unknown>>) => found.push(given);
  const parser = new Parser().exitOverride().configureOutput({ outputError: () => undefined });
  addCommand(parser, { ...test, run }, { terminal, words, report: () => undefined });
  await parser.parseAsync(["test", ...words], { from: "user" });
  return found[0] as Given<Set>;
}
