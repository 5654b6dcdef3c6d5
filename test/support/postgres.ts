/** Vitest global setup for PostgreSQL: uses the server in `REDRIVE_TEST_POSTGRES`, otherwise starts one for this run. */
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
