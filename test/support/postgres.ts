/**
 * Vitest's global set-up for PostgreSQL: the server that `REDRIVE_TEST_POSTGRES` names, else one of our own for this run. A
 * run in which no test file speaks of PostgreSQL does without.
 */
import type { TestProject } from "vitest/node";
import { PostgresServer } from "./postgres-server.ts";

let server: PostgresServer | undefined;

/** Called by Vitest before the first test file; test processes inherit the variable. */
export async function setup(_project: TestProject): Promise<void> {
  if (process.env.REDRIVE_TEST_POSTGRES !== undefined) return;
  server = await PostgresServer.make();
  process.env.REDRIVE_TEST_POSTGRES = server.url;
}

export async function teardown(): Promise<void> {
  await server?.remove();
}
