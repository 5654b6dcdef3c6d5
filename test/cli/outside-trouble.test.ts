/** Errors outside of Redrive: the command line prints a message and exits with a documented code. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { startServers } from "../../bench/commands/broken-servers.mjs";
import { runCli } from "../../src/cli/program.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

interface Answer {
  readonly code: number;
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

function makeHome(): string {
  const directory = new TemporaryDirectory();
  onTestFinished(() => directory.remove());
  return directory.path;
}

function streams(home: string, stdin = "") {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const env = { PATH: process.env.PATH, HOME: home, REDRIVE_HOME: home };
  return { version: "0", env, cwd: home, stdin: Readable.from([Buffer.from(stdin)]), stdout, stderr };
}

async function run(words: readonly string[], home: string, stdin?: string): Promise<Answer> {
  const terminal = streams(home, stdin);
  const code = await runCli([...words, "--json"], terminal);
  const text: unknown = terminal.stdout.read()?.toString();
  return { code, error: JSON.parse(String(text)).error };
}

it.each(["garbage", "an error without fields"])(
  "a server that is no PostgreSQL is a store that cannot be used: %s",
  async (name) => {
    const servers = await startServers((one: string) => one === name);
    onTestFinished(() => servers.close());
    const url = String(servers.urls.get(name));
    const { code, error } = await run(["queue", "list", "--store", url], makeHome());
    expect({ code, kind: error?.code }).toEqual({ code: 75, kind: "store_unavailable" });
    expect(error?.message.split(" ").length).toBeGreaterThan(5);
    expect(error?.message).not.toContain("secret");
  },
);

it("a home below a file is a store error", async () => {
  const file = join(makeHome(), "file");
  writeFileSync(file, "");
  const { code, error } = await run(["queue", "create", "work"], join(file, "home"));
  expect(code).toBe(75);
  expect(error?.message).toContain(file);
});

it("rows that break the store's rules are damage, and the hint lists them", async () => {
  const home = makeHome();
  await runCli(["map", "--retries", "0", "-q", "--", "false"], streams(home, "a\nb\n"));
  const database = new DatabaseSync(join(home, "redrive.db"));
  database.exec("UPDATE attempts SET failure = '{'");
  database.close();
  const { code, error } = await run(["dlq", "list"], home);
  expect({ code, kind: error?.code }).toEqual({ code: 75, kind: "store_corrupt" });
  const check = await run(["store", "check"], home);
  expect(check.code).not.toBe(0);
});

it.each([
  ["watch"],
  ["run", "/dev/zero"],
  ["validate", "/dev/zero"],
  ["queue", "add", "work", "--data", "@/dev/zero"],
])("a file without an end is refused: %s", async (...words) => {
  const [first] = words;
  const { code, error } = await run(
    first === "watch" ? ["watch", "--config", "/dev/zero"] : words,
    makeHome(),
  );
  expect({ code, kind: error?.code }).toEqual({ code: 2, kind: "usage" });
});

it("a command that waits for another process reports the wait and its reason", async () => {
  const home = makeHome();
  await runCli(["queue", "create", "work"], streams(home));
  const database = new DatabaseSync(join(home, "redrive.db"));
  onTestFinished(() => database.close());
  database.exec("BEGIN IMMEDIATE");
  const terminal = streams(home);
  const ended = runCli(["queue", "pause", "work"], terminal);
  await once(terminal.stderr, "readable");
  expect(terminal.stderr.read()?.toString()).toMatch(/waiting for the store: .*locked/);
  database.exec("ROLLBACK");
  expect(await ended).toBe(0);
});
