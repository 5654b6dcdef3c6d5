/**
 * Compares the help of every command with its golden file, and checks that its examples parse. `npm run golden`
 * updates the files.
 */
import { readdirSync } from "node:fs";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { Command as Parser } from "commander";
import { describe, expect, it } from "vitest";
import { addCommand } from "../../src/cli/command.ts";
import { everyCommand } from "../../src/cli/program.ts";
import { say } from "../checks/help.ts";

const FOLDER = fileURLToPath(new URL("golden/", import.meta.url));
const all = (await everyCommand()).filter(({ command }) => !command.isHidden);

/** Splits a command line like a shell, without a comment, a pipe before it or a redirection after it. */
function wordsOf(line: string): readonly string[] {
  const command = line
    .replace(/ {2,}#.*$/, "")
    .replace(/^.*?\| (?=redrive)/, "")
    .replace(/ (>>?|\|) .*$/, "");
  const words = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    (match) => match[1] ?? match[2] ?? match[3] ?? "",
  );
  return words.slice(1);
}

describe.each(all)("redrive $words", ({ words, command }) => {
  it("has the help of its golden file", async () => {
    const { code, stdout } = await say(...words.split(" "), "--help");
    expect(code).toBe(0);
    await expect(stdout).toMatchFileSnapshot(`golden/${words.replace(" ", "-")}.txt`);
  });

  it("has a summary in the imperative and examples with valid words", async () => {
    expect(command.summary).toMatch(/^[A-Z][a-z]+ .*\.$/);
    expect(command.examples.length).toBeGreaterThan(0);
    for (const example of command.examples) {
      const given = wordsOf(example);
      const own = words.split(" ");
      expect(own.every((word, index) => given[index] === word) || command.isDefault, example).toBe(true);
      const called: unknown[] = [];
      const parser = new Parser()
        .exitOverride()
        .enablePositionalOptions()
        .configureOutput({ outputError: () => undefined });
      const run = async () => called.push(example);
      const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
      const terminal = { version: "0", env: {}, cwd: "/", ...streams };
      addCommand(parser, { ...command, run }, { terminal, words: given, report: () => undefined });
      const rest = given.slice(given[own.length - 1] === own.at(-1) ? own.length : own.length - 1);
      await parser.parseAsync([command.name, ...rest], { from: "user" });
      expect(called).toEqual([example]);
    }
  });
});

it("every command has a golden file, and every golden file a command", () => {
  const names = all.map(({ words }) => `${words.replace(" ", "-")}.txt`);
  expect(readdirSync(FOLDER).sort()).toEqual([...names, "redrive.txt"].sort());
});

it("the program has the help of its golden file", async () => {
  await expect((await say("--help")).stdout).toMatchFileSnapshot("golden/redrive.txt");
});

it("the help of the program has the summary of every command without a family", async () => {
  const help = (await say("--help")).stdout.replace(/\s+/g, " ");
  const alone = (await everyCommand()).filter(
    ({ words, command }) => !words.includes(" ") && !command.isHidden,
  );
  expect(alone.length).toBeGreaterThan(10);
  expect(alone.filter(({ words, command }) => !help.includes(`${words} ${command.summary}`))).toEqual([]);
});
