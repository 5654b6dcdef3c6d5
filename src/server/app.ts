/**
 * The server as a `fetch` handler: the contract's routes, health, metrics and login. It does not listen on a
 * port itself.
 */
import { Hono } from "hono";
import type { Config } from "../config/settings.ts";
import type { Engine } from "../engine.ts";
import { metricsText } from "../service/metrics-text.ts";
import type { Clock } from "../std/clock.ts";
import type { JsonObject } from "../std/json.ts";
import type { AuthMode } from "./auth/login.ts";
import { PROVIDER_PATHS, providerPages } from "./auth/provider-routes.ts";
import { readConsole } from "./console-files.ts";
import type { Connection, Seen, ServerContext, TraceRequest } from "./context.ts";
import { API_PREFIX } from "./contract.ts";
import { docsPage } from "./docs-page.ts";
import { type AllowedHosts, addHeaders, requireKnownHost } from "./guard.ts";
import { type HandledRoute, handledRoutes } from "./handlers.ts";
import { openApiDocument } from "./openapi.ts";
import { DEFAULT_LIMITS, type Limits, Pipeline } from "./pipeline.ts";
import { problemOf, problemResponse, RequestError } from "./problem.ts";
import { type RequestLog, RequestMetrics, referenceFor } from "./request-log.ts";
import { createServerContext } from "./server-context.ts";

export interface ServerOptions {
  readonly engine: Engine;
  /** The folder with logs and evidence. */
  readonly home: string;
  readonly version: string;
  /** Default: tokens and sessions. */
  readonly auth?: AuthMode;
  /** The prefix under which requests arrive, e.g. `/redrive`. Default: none. */
  readonly basePath?: string;
  /** The prefix that browsers see, if a proxy changes it. Default: `basePath`. */
  readonly publicPath?: string;
  /** Default `any`, for programs that mount the handler. `redrive serve` sets explicit names. */
  readonly hosts?: AllowedHosts;
  /** Whether browsers use HTTPS. Default false. */
  readonly isSecure?: boolean;
  readonly config?: () => Promise<Config>;
  /** Whether retries of maps and workflows may run their commands in this process. Default false. */
  readonly allowsRuns?: boolean;
  /** Whether agents on `/mcp` get tools that make changes, if their role allows it. Default false. */
  readonly allowsAgentChanges?: boolean;
  readonly limits?: Partial<Limits>;
  readonly log?: RequestLog;
  /** Wraps requests, e.g. `traceRequests()` of `redrive/otel`. Default: no tracing. */
  readonly trace?: TraceRequest;
  readonly clock?: Clock;
  /** Validates every response against the contract, for tests. Default false. */
  readonly checksResponses?: boolean;
}

export interface RedriveServer {
  /** Answers a request. `connection` contains the caller's address, for rate limits and the log. */
  fetch(request: Request, connection?: Connection): Promise<Response>;
  /** Creates a one-time login link and returns its path, e.g. `/login?token=…`. */
  createLoginPath(name: string): string;
  /** Continues bulk operations that a crash of this server interrupted. */
  resume(): Promise<void>;
  /** Ends streams and background work. The store stays open. */
  close(): Promise<void>;
}

export function createServer(options: ServerOptions): RedriveServer {
  const { basePath = "", log } = options;
  const publicPath = options.publicPath ?? basePath;
  const stop = new AbortController();
  const context = createServerContext({ ...options, stopping: stop.signal, cookiePath: publicPath || "/" });
  const { login, runner } = context;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const hosts = options.hosts ?? "any";
  const metrics = new RequestMetrics();
  const { checksResponses = false, allowsAgentChanges = false } = options;
  const pipeline = new Pipeline({ context, limits, hosts, checksResponses });
  const app = buildApp({
    context,
    pipeline,
    metrics,
    basePath,
    publicPath,
    isSecure: options.isSecure ?? false,
    version: options.version,
    log,
    allowsAgentChanges,
  });

  const answer = async (request: Request, connection: Connection) => {
    const started = performance.now();
    const url = new URL(request.url);
    const seen = { route: "unknown", principal: undefined as string | undefined };
    let response: Response;
    try {
      requireKnownHost(request.headers, url, hosts);
      response = await app.fetch(request, { connection, seen });
    } catch (error) {
      response = problemOf(error) ?? bug(error, log);
    }
    addHeaders(response);
    const seconds = (performance.now() - started) / 1000;
    metrics.observe({ route: seen.route, method: request.method, status: response.status, seconds });
    log?.({
      level: response.status >= 500 ? "error" : "info",
      event: "request",
      method: request.method,
      path: url.pathname, // without the query, which may contain a login token
      status: response.status,
      duration_ms: Math.round(seconds * 10_000) / 10,
      ...(connection.remoteAddress !== undefined && { address: connection.remoteAddress }),
      ...(seen.principal !== undefined && { who: seen.principal }),
    });
    return { response, route: seen.route };
  };
  return {
    fetch: async (request, connection = {}) =>
      options.trace === undefined
        ? (await answer(request, connection)).response
        : options.trace(request, () => answer(request, connection)),
    createLoginPath: (name) => `${publicPath}/login?token=${login.createLink(name)}`,
    resume: () => runner.resume(),
    close: async () => {
      stop.abort();
      await runner.ended();
    },
  };
}

/** Hides an internal error from the client and logs it with a reference. */
function bug(error: unknown, log: RequestLog | undefined): Response {
  const reference = referenceFor();
  const stack = error instanceof Error ? error.stack : String(error);
  log?.({ level: "error", event: "bug", reference, stack });
  return problemResponse({
    code: "internal",
    detail: "An internal error occurred. The details are in the server's log under this reference.",
    reference,
  });
}

interface Parts {
  readonly context: ServerContext;
  readonly pipeline: Pipeline;
  readonly metrics: RequestMetrics;
  readonly basePath: string;
  readonly publicPath: string;
  readonly isSecure: boolean;
  readonly version: string;
  readonly allowsAgentChanges: boolean;
  readonly log: RequestLog | undefined;
}

type Env = { Bindings: { readonly connection: Connection; readonly seen: Seen } };

function buildApp(parts: Parts): Hono<Env> {
  const { pipeline, basePath } = parts;
  const app = new Hono<Env>().basePath(basePath);
  app.onError((error) => {
    throw error; // `createServer` answers
  });
  const routes = handledRoutes();
  for (const handled of routes) {
    const { method, path } = handled;
    app.on(method, honoPath(path), (c) => {
      c.env.seen.route = path;
      return pipeline.run(handled, { request: c.req.raw, params: c.req.param(), ...c.env });
    });
  }
  addPlainRoutes(app, parts);
  addAgentRoute(app, parts);
  for (const path of new Set(routes.map((one) => one.path)))
    app.all(honoPath(path), () => {
      throw wrongMethod(path, routes);
    });
  const page = readConsole(parts.publicPath);
  app.notFound((c) => {
    if (!`${c.req.path}/`.startsWith(`${basePath}/`)) return notFound(); // not the console page, which a health check would mistake for a healthy response
    const path = c.req.path.slice(basePath.length);
    if (page !== null && c.req.method === "GET" && !path.startsWith("/api/"))
      return page.find(path.slice(1)) ?? (isPage(path) ? page.page() : notFound());
    return notFound();
  });
  return app;
}

/**
 * Whether the path is a page of the console. For a missing file, the page would be wrong, because a browser
 * would run it as a script.
 */
function isPage(path: string): boolean {
  return !/\.\w+$/.test(path) || /^\/(?:letters|items|jobs|queues|groups|operations)\//.test(path);
}

function notFound(): never {
  throw new RequestError("route_not_found", "There is no such route.", {
    hint: "To list the routes: /api/v1/openapi.json",
  });
}

function honoPath(path: string): string {
  return API_PREFIX + path.replaceAll(/\{(\w+)\}/g, ":$1");
}

function wrongMethod(path: string, routes: readonly HandledRoute[]): RequestError {
  const allow = routes.filter((one) => one.path === path).map(({ method }) => method);
  const message = `This path accepts ${allow.join(", ")}.`;
  return new RequestError("method_not_allowed", message, { headers: { allow: allow.join(", ") } });
}

/** Routes outside the contract: health for load balancers, metrics for Prometheus, and the page of a login link. */
function addPlainRoutes(app: Hono<Env>, parts: Parts): void {
  const { context, pipeline, metrics, publicPath, version, isSecure } = parts;
  const { engine, login } = context;
  app.get("/healthz", (c) => c.json({ status: "ok" }));
  app.get("/readyz", async (c) => {
    await engine.requireUsable();
    return c.json({ status: "ready" });
  });
  app.get("/metrics", async (c) => {
    c.env.seen.route = "/metrics";
    await pipeline.requireRole(c.req.raw.headers, "viewer", c.env);
    await engine.requireUsable();
    const text = (await metricsText(engine)) + (await metrics.text());
    return c.body(text, 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  });
  let document: ReturnType<typeof openApiDocument> | undefined;
  const readDocument = () => {
    document ??= openApiDocument(version); // built on first use, because that takes as long as a tenth of the startup
    return document;
  };
  app.get(`${API_PREFIX}/openapi.json`, (c) => c.json(readDocument()));
  const own = publicPath + API_PREFIX;
  const docs = () => docsPage(readDocument() as JsonObject, `${own}/docs.css`, `${own}/openapi.json`);
  app.get(`${API_PREFIX}/docs`, (c) => c.html(docs().html));
  app.get(`${API_PREFIX}/docs.css`, (c) =>
    c.body(docs().css, 200, { "content-type": "text/css; charset=utf-8" }),
  );
  const pages = providerPages(context, publicPath, isSecure);
  for (const path of PROVIDER_PATHS)
    app.get(path, async (c) => {
      c.env.seen.route = path;
      pipeline.limitGuesses(c.env.connection);
      return (await pages.answer(path, c.req.raw)) ?? notFound();
    });
  app.get("/login", async (c) => {
    c.env.seen.route = "/login";
    pipeline.limitGuesses(c.env.connection);
    const { cookie } = await login.logIn(c.req.query("token") ?? "");
    return c.body(null, 303, { location: `${publicPath}/`, "set-cookie": cookie });
  });
}

/** `/mcp` for agents. Its modules are loaded on the first request, because most servers never get one. */
function addAgentRoute(app: Hono<Env>, { context, pipeline, allowsAgentChanges, log }: Parts): void {
  app.post("/mcp", async (c) => {
    c.env.seen.route = "/mcp";
    const request = c.req.raw;
    const { principal, body } = await pipeline.readAgentRequest(request, c.env);
    const signal = AbortSignal.any([request.signal, context.stopping]);
    const { answerAgent } = await import("./mcp/http.ts");
    const agent = { context, principal, signal, log, allowsChanges: allowsAgentChanges };
    return answerAgent(request, body, agent);
  });
  app.all("/mcp", () => {
    throw new RequestError("method_not_allowed", "This path accepts POST.", { headers: { allow: "POST" } });
  });
}
