/** Runs the command line in this process as an interactive user: reads its prompts and answers them. */
import { PassThrough } from "node:stream";
import { runCli } from "../../src/cli/program.ts";
import { until } from "./until.ts";

export interface PersonResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface PersonOptions {
  /** `REDRIVE_HOME` is the folder `redrive` in it, as for the real command line. */
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory. Default: `home`. */
  readonly cwd?: string;
  /** The answers to the prompts, in order; after the last one the terminal is closed. */
  readonly answers: readonly string[];
}

/** Colours are off, so that output can be compared. */
export async function asPerson(
  argv: readonly string[],
  { home, env = {}, cwd = home, answers }: PersonOptions,
): Promise<PersonResult> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const [stdout, stderr] = [screen(), screen()];
  const ended = runCli(argv, {
    version: "0",
    env: { PATH: process.env.PATH, HOME: home, REDRIVE_HOME: `${home}/redrive`, NO_COLOR: "1", ...env },
    cwd,
    stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
  });
  const typed = type(stdin, stderr, answers);
  const code = await ended;
  stdin.end();
  await typed;
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

interface Screen {
  readonly stream: PassThrough & { readonly isTTY: boolean; readonly columns: number };
  readonly text: () => string;
}

function screen(): Screen {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 120 });
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  return { stream, text: () => text };
}

/** Waits for each prompt before it sends the answer. Answers without a prompt are ignored. */
async function type(stdin: PassThrough, stderr: Screen, answers: readonly string[]): Promise<void> {
  for (const [index, answer] of answers.entries()) {
    const asked = () => stderr.text().split("[y/N]").length - 1 > index;
    await until("a question", () => asked() || stdin.writableEnded);
    if (stdin.writableEnded) return;
    stdin.write(`${answer}\n`);
  }
}
