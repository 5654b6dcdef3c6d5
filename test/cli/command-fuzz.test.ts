/**
 * Runs every command with broken stores, servers and input: it prints a message and exits with a documented code,
 * never with a stack trace. `npm run fuzz:commands` is the long form.
 */
import { expect, it, onTestFinished } from "vitest";
import { SLOW_SERVERS, startServers } from "../../bench/commands/broken-servers.mjs";
import { fuzzCommands } from "../../bench/commands/fuzz.mjs";
import * as program from "../../src/cli/program.ts";
import { seeds } from "../support/seeds.ts";

it("no command prints a stack trace for what can happen outside of Redrive", async () => {
  const servers = await startServers((name: string) => name !== "garbage" && !SLOW_SERVERS.has(name));
  onTestFinished(() => servers.close());
  const [seed = 1] = seeds(1);
  const report = await fuzzCommands({
    program,
    runs: 80,
    seed,
    servers: servers.urls,
    patienceMs: 1_000,
    deadlineMs: 60_000,
  });
  expect(report.violations).toEqual([]);
  expect(report.commands.size).toBeGreaterThan(30);
}, 120_000);
