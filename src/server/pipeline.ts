/** The processing of every request: origin, authentication, role, limits, input, the handler, and the response. */
import { authorText } from "../item/author.ts";
import { isJsonObject, type Json } from "../std/json.ts";
import { authoredEngine } from "../store/authored-engine.ts";
import { unauthorized } from "./auth/login.ts";
import { mayAct, type Principal } from "./auth/principal.ts";
import { type Connection, Reply, type RequestContext, type Seen, type ServerContext } from "./context.ts";
import { isStream, type Role, type RouteSpec } from "./contract/route.ts";
import {
  type AllowedHosts,
  limitedStream,
  type Rate,
  RateLimit,
  rateOf,
  readBody,
  requireJsonType,
  requireOwnOrigin,
  textResponse,
} from "./guard.ts";
import type { HandledRoute } from "./handlers.ts";
import { once } from "./idempotency.ts";
import { problemOf, RequestError } from "./problem.ts";
import { bodyValue, type ParsedInput, readInput } from "./read-input.ts";
import { redactorFor, requireVisible } from "./redact.ts";
import { readGroupValues } from "./redact-groups.ts";
import { SharedReads } from "./shared-reads.ts";

export interface Limits {
  readonly bodyBytesMax: number;
  /** The size limit of bodies that are imported as streams. */
  readonly streamBytesMax: number;
  /** The rate limit for requests of one token or session. */
  readonly requests: Rate;
  /** The rate limit for requests without a valid token from one address. */
  readonly guesses: Rate;
}

export const DEFAULT_LIMITS: Limits = {
  bodyBytesMax: 4 * 1024 * 1024,
  streamBytesMax: 1024 * 1024 * 1024,
  requests: rateOf(500),
  guesses: { burst: 30, perSecond: 1 },
};

export interface PipelineOptions {
  readonly context: ServerContext;
  readonly limits: Limits;
  readonly hosts: AllowedHosts;
  readonly checksResponses: boolean;
}

interface Call {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly connection: Connection;
  readonly seen: Seen;
}

export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #requests: RateLimit;
  readonly #guesses: RateLimit;
  readonly #shared = new SharedReads<Answer>();

  constructor(options: PipelineOptions) {
    this.#options = options;
    const { limits, context } = options;
    this.#requests = new RateLimit(limits.requests, context.clock);
    this.#guesses = new RateLimit(limits.guesses, context.clock);
  }

  async run(handled: HandledRoute, call: Call): Promise<Response> {
    const { route, method } = handled;
    const { request, connection, seen } = call;
    const { context, hosts } = this.#options;
    requireOwnOrigin(method, request.headers, hosts);
    const principal = await this.requireRole(request.headers, route.role, { connection, seen });
    const { text, stream } = await this.#bodyOf(route, request);
    const url = new URL(request.url);
    const input = readInput(route, { params: call.params, query: url.searchParams, body: text });
    const own = await contextFor(context, {
      principal,
      author: authorOf(principal),
      headers: request.headers,
      signal: () => AbortSignal.any([request.signal, context.stopping]),
      stream,
    });
    const key = method === "POST" ? request.headers.get("idempotency-key") : null;
    const { pathname, search } = url;
    if (route.isShared) {
      const page = `${principal.role} ${pathname}${search}`;
      return responseOf(await this.#shared.read(page, () => this.#answer(handled, own, input)));
    }
    if (key === null) return responseOf(await this.#answer(handled, own, input));
    const asked = `${pathname}${search}\n${text ?? ""}`;
    return once(context.engine, { principal, key, route, request: asked }, () =>
      this.#answer(handled, own, input).then(
        responseOf,
        (error: unknown) => problemOf(error) ?? Promise.reject(error),
      ),
    );
  }

  /** Returns the caller of the request. All role checks happen here. */
  async requireRole(
    headers: Headers,
    needed: Role | "public",
    { connection, seen }: { readonly connection: Connection; readonly seen: Seen },
  ): Promise<Principal> {
    const { login } = this.#options.context;
    if (needed === "public") {
      this.limitGuesses(connection);
      return NOBODY;
    }
    const principal = await login.identify(headers).catch((error) => {
      this.limitGuesses(connection);
      throw error;
    });
    if (principal === null) throw unauthorized();
    seen.principal = principal.name;
    this.#requests.take(principal.id);
    requireRights(principal, needed);
    return principal;
  }

  /** Checks a request of an agent and reads its message. The tools check the role for each route that they call. */
  async readAgentRequest(
    request: Request,
    { connection, seen }: { readonly connection: Connection; readonly seen: Seen },
  ): Promise<{ readonly principal: Principal; readonly body: unknown }> {
    const { hosts, limits } = this.#options;
    requireOwnOrigin("POST", request.headers, hosts);
    const principal = await this.requireRole(request.headers, "viewer", { connection, seen });
    requireJsonType(request.headers, "application/json");
    return { principal, body: bodyValue(await readBody(request, limits.bodyBytesMax)) };
  }

  /** Slows down attempts to guess tokens. */
  limitGuesses({ remoteAddress = "" }: Connection): void {
    this.#guesses.take(remoteAddress);
  }

  async #bodyOf(
    route: RouteSpec,
    request: Request,
  ): Promise<{ readonly text: string | undefined; readonly stream: ReadableStream<Uint8Array> | null }> {
    const { limits } = this.#options;
    if (route.bodyType !== undefined) {
      requireJsonType(request.headers, route.bodyType);
      return { text: undefined, stream: limitedStream(request, limits.streamBytesMax) };
    }
    if (route.body === undefined) return { text: undefined, stream: null };
    requireJsonType(request.headers, "application/json");
    return { text: await readBody(request, limits.bodyBytesMax), stream: null };
  }

  async #answer(handled: HandledRoute, context: RequestContext, input: ParsedInput): Promise<Answer> {
    const { route } = handled;
    const result = await runHandler(handled, context, input);
    if (result instanceof Response) return result;
    const { headers, status } = result;
    const text = `${result.text()}\n`;
    if (this.#options.checksResponses && !isStream(route.response)) route.response.parse(JSON.parse(text));
    return { text, status: status ?? route.status ?? 200, headers };
  }
}

/** A JSON document that is ready to be sent, or a complete response. */
type Answer =
  | { readonly text: string; readonly status: number; readonly headers: Reply["headers"] }
  | Response;

function responseOf(answer: Answer): Response {
  if (answer instanceof Response) return answer;
  const { text, status, headers } = answer;
  return textResponse(text, { status, headers: { "content-type": "application/json", ...headers } });
}

/** Adds the caller and the redaction for the caller's role to the server's context. */
export async function contextFor(
  context: ServerContext,
  request: Omit<RequestContext, keyof ServerContext | "redactor">,
): Promise<RequestContext> {
  const redactor = redactorFor((await context.config()).redact, request.principal.role);
  return { ...context, ...request, engine: authoredEngine(context.engine, request.author), redactor };
}

/** Throws `forbidden` unless the role includes the required one. */
export function requireRights({ name, role }: Principal, needed: Role): void {
  if (mayAct(role, needed)) return;
  throw new RequestError("forbidden", `This needs the role ${needed}; ${name} has the role ${role}.`);
}

/** Runs the handler of a route and masks values that the role may not see. */
export async function runHandler(
  { handler }: HandledRoute,
  context: RequestContext,
  input: ParsedInput,
): Promise<Reply | Response> {
  const { redactor } = context;
  if (redactor !== null) requireNoGuessing(input);
  const result = await handler(context, input as Parameters<typeof handler>[1]);
  if (result instanceof Response) return result;
  const reply = result instanceof Reply ? result : new Reply(result);
  if (redactor === null) return reply;
  const { document, headers, status } = reply;
  const groups = await readGroupValues(context.engine, document as Json, redactor.values);
  return new Reply(redactor.document(document, groups), headers, status);
}

/** Expressions and text searches could reveal hidden values by trial and error. */
function requireNoGuessing({ query, body }: ParsedInput): void {
  const filters = [query, isJsonObject(body) ? body.filter : undefined].filter(isJsonObject);
  const guessing = filters.some(({ filter, search }) => filter !== undefined || search !== undefined);
  if (guessing) requireVisible("filtering by expression or text");
}

/** People use sessions, programs use tokens. */
function authorOf({ name, kind }: Principal): string {
  return authorText(name, kind === "session" ? "console" : "api");
}

const NOBODY: Principal = { name: "nobody", role: "viewer", kind: "open", id: "nobody" };
