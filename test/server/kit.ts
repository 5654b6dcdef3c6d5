/** A store with letters and a server on it without a port, and clients for each role. */
import { onTestFinished } from "vitest";
import type { Handler } from "../../src/attempt/handler.ts";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import { addItems } from "../../src/queue/add-items.ts";
import { createQueue } from "../../src/queue/queue-settings.ts";
import { Worker } from "../../src/queue/worker.ts";
import { createServer, type RedriveServer, type ServerOptions } from "../../src/server/app.ts";
import { createToken } from "../../src/server/auth/tokens.ts";
import { RedriveClient } from "../../src/server/client.ts";
import type { Role } from "../../src/server/contract/route.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

export const ORIGIN = "http://127.0.0.1:4747";
export const API = `${ORIGIN}/api/v1`;

export interface Kit {
  readonly engine: Engine;
  readonly server: RedriveServer;
  readonly home: string;
  /** Creates a token and returns a client that uses it. */
  as(role: Role, name?: string): Promise<RedriveClient>;
  tokenFor(role: Role, name?: string): Promise<string>;
  /** Sends a raw request; the path is below the origin. */
  send(method: string, path: string, init?: RequestInit): Promise<Response>;
}

export async function serverKit(options: Partial<ServerOptions> & { url?: string } = {}): Promise<Kit> {
  const { url = "memory:", ...rest } = options;
  const folder = new TemporaryDirectory();
  const home = folder.path;
  const engine = rest.engine ?? (await openStore(url, rest.clock ? { clock: rest.clock } : {}));
  const server = createServer({
    engine,
    home,
    version: "0.0.0-test",
    hosts: "loopback",
    checksResponses: true,
    log: (record) => {
      if (record.event === "bug") throw new Error(String(record.stack));
    },
    ...rest,
  });
  onTestFinished(async () => {
    await server.close();
    await engine.close();
    folder.remove();
  });
  const tokenFor = async (role: Role, name: string = role) =>
    (await createToken(engine, { kind: "token", name, role, createdBy: "test", lifetimeMs: 3_600_000 }))
      .secret;
  return {
    engine,
    server,
    home,
    tokenFor,
    as: async (role, name) =>
      new RedriveClient({ url: API, token: await tokenFor(role, name), fetch: (one) => server.fetch(one) }),
    send: (method, path, init = {}) => server.fetch(new Request(ORIGIN + path, { method, ...init })),
  };
}

/** Fails items whose data has `bad`, with that text as the message, and `log` as the path of the output. */
export const failing: Handler = async (item) => {
  const { bad, log } = item.data as { readonly bad?: string; readonly log?: string };
  if (bad === undefined) return { kind: "succeeded" };
  if (log === undefined) throw new Error(bad);
  const failure = {
    attemptNumber: item.attempt,
    timestamp: 0,
    errorMessage: bad,
    agentId: "w",
    durationMs: 1,
  };
  const error = { errorType: { name: "Unknown" }, errorClass: "unknown", stepFailed: "x" } as const;
  return { kind: "failed", failure: { ...failure, ...error }, log };
};

/** Creates a queue whose items with `bad` have died. */
export async function queueWithLetters(
  engine: Engine,
  name: string,
  items: readonly { readonly key: string; readonly data: object }[],
): Promise<void> {
  await createQueue(engine, name, { maxRetries: 0 });
  await addItems(
    engine,
    name,
    items.map(({ key, data }) => ({ key, data: { ...data } })),
  );
  await work(engine, name);
}

/** Processes what is ready in the queue. */
export async function work(engine: Engine, name: string, handler: Handler = failing): Promise<void> {
  await new Worker(engine, name, { handler, untilEmpty: true }).ended;
}
