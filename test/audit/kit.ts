/** Stores with something of every kind in them, for the tests that every change leaves an entry in the audit. */
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { onTestFinished } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import type { Operation } from "../../src/item/operation.ts";
import { putSchedule } from "../../src/queue/schedules.ts";
import { listAudit } from "../../src/server/audit.ts";
import { createToken } from "../../src/server/auth/tokens.ts";
import { queueWithLetters } from "../server/kit.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

/** Why a command, a method or a route leaves no entry. */
export const READS = "reads only";

export interface Entry {
  readonly id: string;
  readonly author: string;
  readonly via: string;
  readonly action: string;
}

export interface Stocked {
  readonly engine: Engine;
  readonly home: string;
  readonly url: string;
  /** The signatures of the groups of the letters o-1 and o-2. */
  readonly groups: readonly string[];
  readonly tokenId: string;
}

/** Opens a store with a queue, letters of two groups, a ready item, a schedule and a token. */
export async function stocked(): Promise<Stocked> {
  const folder = new TemporaryDirectory();
  const url = `sqlite:${join(folder.path, "redrive.db")}`;
  const engine = await openStore(url);
  onTestFinished(async () => {
    await engine.close();
    folder.remove();
  });
  await queueWithLetters(engine, "orders", [
    { key: "o-1", data: { bad: "no country" } },
    { key: "o-2", data: { bad: "the shop is closed" } },
  ]);
  await engine.add("orders", [{ itemId: "ready-1", data: 1 }]);
  await putSchedule(engine, "nightly", { queue: "orders", cron: "0 3 * * *" });
  const token = {
    kind: "token",
    name: "ci",
    role: "viewer",
    createdBy: "setup",
    lifetimeMs: 60_000,
  } as const;
  const { record } = await createToken(engine, token);
  const { letters } = await engine.listLetters({ queue: "orders", order: "oldest", limit: 2 });
  const groups = letters.map(({ errorSignature }) => errorSignature);
  return { engine, url, home: folder.path, groups, tokenId: record.id };
}

/** Begins an operation that nobody works through. */
export function begin(engine: Engine, kind: Operation["kind"] = "discard"): Promise<Operation> {
  const named = { id: "op-1", kind, queue: "orders", author: "setup", force: false, plan: {} };
  return engine.beginOperation({ ...named, filter: { queue: "orders" }, reason: "test" });
}

/** Creates the job `night` with the ready item `one`; a runner on another machine works it. */
export async function running({ engine }: Stocked): Promise<void> {
  await engine.createJob({ id: "night", name: "night", kind: "map", spec: {} });
  await engine.add("night", [{ itemId: "one", data: 1 }]);
  const process = { host: "elsewhere", pid: 1, processStart: "1", ttlMs: 60_000 };
  await engine.registerHolder({ id: "h", queue: "night", ...process });
}

/** The entries that were added since the event, newest first. */
export async function entriesSince(engine: Engine, event: number): Promise<readonly Entry[]> {
  const { entries } = await listAudit(engine, { limit: 100 });
  return (entries as unknown as readonly Entry[]).filter(({ id }) => Number(id) > event);
}

/** Runs a command line in this process as `ada`. Returns its exit code and what it wrote. */
export async function run(
  { home, url }: Pick<Stocked, "home" | "url">,
  argv: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  let output = "";
  const sink = () =>
    new Writable({
      write(chunk, _encoding, done) {
        output += String(chunk);
        done();
      },
    });
  const stdin = new PassThrough();
  stdin.end();
  const env = { ...process.env, REDRIVE_HOME: home, REDRIVE_STORE: url, REDRIVE_AUTHOR: "ada" };
  const streams = { stdin, stdout: sink(), stderr: sink() };
  const code = await runCli(argv, { version: "0.0.0", env, cwd: home, ...streams });
  return { code, output };
}
