/** Serves metrics for Prometheus and a health check. Returns 503 if the store is unavailable, never false values. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { hostName, isLoopbackName } from "../std/loopback.ts";
import { type ListenAddress, listenOn } from "./listen-on.ts";

export interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface ServeOptions {
  readonly engine: Engine;
  readonly at: ListenAddress;
  readonly text: () => Promise<string>;
}

const LOOPBACK = "127.0.0.1";
const PORT_MAX = 65_535;

/** Parses `9464`, `0.0.0.0:9464` or `[::1]:9464`. */
export function parseListen(text: string): ListenAddress {
  const match = /^(?:\[([^\]]+)\]:|([^:[\]]+):)?(\d{1,5})$/.exec(text.trim());
  const port = Number(match?.[3] ?? Number.NaN);
  if (match && port <= PORT_MAX) return { host: match[1] ?? match[2] ?? LOOPBACK, port };
  throw new RedriveError("usage", `--listen: "${text}" is not a port or HOST:PORT.`, {
    hint: "Give a port from 0 to 65535, or HOST:PORT to listen on another address: 0.0.0.0:9464.",
  });
}

export async function serveMetrics({ engine, at, text }: ServeOptions): Promise<MetricsServer> {
  const once = sharedRead(text);
  const server = createServer((request, response) => void answer(request, response, { engine, text: once }));
  return {
    url: await listenOn(server, at),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

/** Concurrent requests share one read, so that many scrapers cost no more than one. */
export function sharedRead(read: () => Promise<string>): () => Promise<string> {
  let reading: Promise<string> | undefined;
  return () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}

/**
 * Prevents DNS rebinding: on loopback, only requests with a local Host header are accepted. On other addresses any Host
 * header is accepted, because the server's public names are unknown.
 */
function isOwnHost({ headers, socket }: IncomingMessage): boolean {
  return !isLoopbackName(socket.localAddress ?? "") || isLoopbackName(hostName(headers.host ?? ""));
}

type Served = { readonly engine: Engine; readonly text: () => Promise<string> };

const TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
const JSON_TYPE = "application/json; charset=utf-8";

async function answer(request: IncomingMessage, response: ServerResponse, served: Served): Promise<void> {
  const end = (status: number, type: string, body: string) => {
    response.writeHead(status, { "content-type": type, "cache-control": "no-store" });
    response.end(request.method === "HEAD" ? undefined : body);
  };
  if (!isOwnHost(request)) return end(421, TEXT_TYPE, "The Host header does not name this server.\n");
  const path = (request.url ?? "/").split("?")[0];
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return end(405, TEXT_TYPE, "Only GET and HEAD are allowed.\n");
  }
  if (path !== "/metrics" && path !== "/health")
    return end(404, TEXT_TYPE, "Not found. Available paths: /metrics and /health.\n");
  try {
    await served.engine.requireUsable();
    if (path === "/metrics") return end(200, TEXT_TYPE, await served.text());
    return end(200, JSON_TYPE, `${JSON.stringify({ status: "ok" })}\n`);
  } catch (error) {
    if (!(error instanceof RedriveError)) throw error; // a bug: crashes with the stack trace
    const { code, message } = error;
    if (path === "/metrics") return end(503, TEXT_TYPE, `${code}: ${message}\n`);
    return end(503, JSON_TYPE, `${JSON.stringify({ status: "unhealthy", reason: { code, message } })}\n`);
  }
}
