/**
 * Listens on a port, with or without TLS, and shuts down gracefully: accepts no new connections, ends
 * streams, and finishes responses.
 */
import { readFileSync } from "node:fs";
import {
  createServer as createHttp,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createHttps } from "node:https";
import { getRequestListener } from "@hono/node-server";
import { RedriveError } from "../errors.ts";
import { listenOn } from "../service/listen-on.ts";
import type { RedriveServer } from "./app.ts";

export interface ListenOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Whether a proxy in front of the server forwards the caller's address. Default false. */
  readonly isBehindProxy?: boolean;
  /** How long a client may take to send the request header. Default 10 seconds. */
  readonly headersTimeoutMs?: number;
}

export interface Listening {
  /** The URL, e.g. `http://127.0.0.1:4747`. */
  readonly url: string;
  /** Stops listening, and resolves when all responses have been sent or the grace period has passed. */
  close(): Promise<void>;
}

/** A client that sends its header or body more slowly is disconnected, so that it cannot occupy connections. */
function timeoutsOf({ headersTimeoutMs = 10_000 }: ListenOptions) {
  return {
    headersTimeout: headersTimeoutMs,
    requestTimeout: REQUEST_MS_MAX,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: Math.min(2_000, headersTimeoutMs),
    maxHeaderSize: 16_384,
  };
}

/** Long enough to import a gigabyte over a slow connection. */
const REQUEST_MS_MAX = 600_000;

const GRACE_MS = 5_000;

export async function listen(app: RedriveServer, options: ListenOptions): Promise<Listening> {
  const { host, port, tls, isBehindProxy = false } = options;
  const answer = nodeListener(app, { isBehindProxy });
  const limits = timeoutsOf(options);
  const server: Server =
    tls === undefined ? createHttp(limits, answer) : createHttps({ ...limits, ...filesOf(tls) }, answer);
  const url = await listenOn(server, { host, port }, tls ? "https" : "http");
  return { url, close: () => closed(server, app) };
}

/**
 * Adapts the handler to Node requests, as used by Express and Fastify. It must not be mounted behind a body
 * parser.
 */
export function nodeListener(
  app: Pick<RedriveServer, "fetch">,
  { isBehindProxy = false }: Pick<ListenOptions, "isBehindProxy"> = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  const listener = getRequestListener((request, { incoming }) =>
    app.fetch(request, { remoteAddress: addressOf(incoming as IncomingMessage, isBehindProxy) }),
  );
  return (request, response) => void listener(request, response);
}

function filesOf({ cert, key }: NonNullable<ListenOptions["tls"]>) {
  const read = (path: string, option: string) => {
    try {
      return readFileSync(path);
    } catch (error) {
      throw new RedriveError("usage", `${option}: ${path} cannot be read.`, { cause: error });
    }
  };
  return { cert: read(cert, "--tls-cert"), key: read(key, "--tls-key") };
}

/** The last entry was added by the proxy itself; earlier ones could be forged. */
function addressOf({ headers, socket }: IncomingMessage, isBehindProxy: boolean): string | undefined {
  const forwarded = isBehindProxy ? String(headers["x-forwarded-for"] ?? "") : "";
  return forwarded.split(",").at(-1)?.trim() || socket.remoteAddress;
}

async function closed(server: Server, app: RedriveServer): Promise<void> {
  const over = new Promise<void>((resolve) => server.close(() => resolve()));
  await app.close();
  server.closeIdleConnections();
  const grace = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  await over;
  clearTimeout(grace);
}
