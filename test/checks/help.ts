/** The command line and its help, asked in this process. */
import { PassThrough, Writable } from "node:stream";
import { runCli } from "../../src/cli/program.ts";
import { ROOT } from "./sources.ts";

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What the command line answers, in this process. */
export async function say(...argv: string[]): Promise<Said> {
  const heard = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof heard) =>
    new Writable({
      write(chunk, _encoding, done) {
        heard[name] += String(chunk);
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
  return { code, ...heard };
}

export interface Help {
  /** For example `dlq retry`. */
  readonly command: string;
  readonly flags: readonly string[];
  readonly text: string;
}

/** The help of every command. */
export async function everyHelp(path: readonly string[] = []): Promise<Help[]> {
  const { stdout } = await say(...path, "--help");
  const section = (title: string) =>
    new RegExp(`^${title}:\\n((?: .*\\n|\\n(?= ))*)`, "m").exec(`${stdout}\n`)?.[1] ?? "";
  const flags = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map((match) => match[1] ?? "");
  const names = [...section("Commands").matchAll(/^ {2}([a-z]+)/gm)].map((match) => match[1] ?? "");
  const below: Help[] = [];
  for (const name of names) if (name !== "help") below.push(...(await everyHelp([...path, name])));
  return [{ command: path.join(" "), flags, text: stdout }, ...below];
}
