/** Runs command lines in this process and collects the help of all commands. */
import { PassThrough, Writable } from "node:stream";
import { everyCommand, runCli } from "../../src/cli/program.ts";
import { ROOT } from "./sources.ts";

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process. */
export async function say(...argv: string[]): Promise<Answer> {
  const written = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof written) =>
    new Writable({
      write(chunk, _encoding, done) {
        written[name] += String(chunk);
        done();
      },
    });
  const code = await runCli(argv, {
    version: "0.0.0",
    env: { REDRIVE_STORE: "memory:" },
    cwd: ROOT,
    stdin: new PassThrough(),
    stdout: stream("stdout"),
    stderr: stream("stderr"),
  });
  return { code, ...written };
}

export interface Help {
  /** For example `dlq retry`. */
  readonly command: string;
  readonly flags: readonly string[];
  readonly text: string;
}

/** The help of the program, of every family and of every command, or of those that begin with the given words. */
export async function everyHelp(words = ""): Promise<Help[]> {
  const commands = (await everyCommand()).filter(({ command }) => !command.isHidden);
  const all = new Set(["", ...commands.flatMap((one) => [one.words.split(" ")[0] ?? "", one.words])]);
  return Promise.all([...all].filter((one) => `${one} `.startsWith(words && `${words} `)).map(helpOf));
}

async function helpOf(command: string): Promise<Help> {
  const { stdout } = await say(...command.split(" ").filter(Boolean), "--help");
  const flags = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map((match) => match[1] ?? "");
  return { command, flags, text: stdout };
}
