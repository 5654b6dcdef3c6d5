/** The context of a route handler, and its possible responses besides a plain document. */
import type { Config } from "../config/settings.ts";
import type { Engine } from "../engine.ts";
import type { Clock } from "../std/clock.ts";
import { stringifyJson } from "../std/json.ts";
import type { Login } from "./auth/login.ts";
import type { Principal } from "./auth/principal.ts";
import type { RouteSpec } from "./contract/route.ts";
import type { RouteInput } from "./contract.ts";
import type { EventHub } from "./event-hub.ts";
import type { OperationRunner } from "./operation-runner.ts";
import type { Redactor } from "./redact.ts";

/** The state shared by all requests of one server. */
export interface ServerContext {
  readonly engine: Engine;
  /** The folder with logs and evidence. */
  readonly home: string;
  readonly clock: Clock;
  readonly config: () => Promise<Config>;
  readonly login: Login;
  readonly runner: OperationRunner;
  readonly events: EventHub;
  /** Whether commands of maps and workflows may run on this server. */
  readonly allowsRuns: boolean;
  readonly version: string;
  /** Aborted when the server stops, so that streams end. */
  readonly stopping: AbortSignal;
}

/** Facts about the connection that the calling program can provide. */
export interface Connection {
  readonly remoteAddress?: string | undefined;
}

/** Wraps the handling of each request, for tracing. `answer` never rejects. */
export type TraceRequest = (
  request: Request,
  answer: () => Promise<{ readonly response: Response; readonly route: string }>,
) => Promise<Response>;

/** Facts about a request that are logged. */
export interface Seen {
  route: string;
  principal: string | undefined;
}

export interface RequestContext extends ServerContext {
  readonly principal: Principal;
  /** Masks values that the role may not see; null if it may see everything. */
  readonly redactor: Redactor | null;
  /** The author of the changes in this request. */
  readonly author: string;
  readonly headers: Headers;
  /** Returns a signal that is aborted when the client disconnects or the server stops. Most handlers need none. */
  readonly signal: () => AbortSignal;
  /** The body of a route that reads it as a stream. */
  readonly stream: ReadableStream<Uint8Array> | null;
}

/** A document with additional headers or a different status than in the contract. */
export class Reply {
  readonly document: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number | undefined;

  constructor(document: unknown, headers: Readonly<Record<string, string>> = {}, status?: number) {
    this.document = document;
    this.headers = headers;
    this.status = status;
  }

  /** The JSON of the document. */
  text(): string {
    return stringifyJson(this.document);
  }
}

/** A document whose JSON is cheaper to write than the document is to make. */
export class TextReply extends Reply {
  readonly #write: () => string;

  constructor(
    { document, text }: { readonly document: () => unknown; readonly text: () => string },
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(undefined, headers);
    Object.defineProperty(this, "document", { get: document });
    this.#write = text;
  }

  override text(): string {
    return this.#write();
  }
}

/** Returns a JSON document, a document with headers, or a complete response. */
export type Handler<Route extends RouteSpec> = (
  context: RequestContext,
  input: RouteInput<Route>,
) => Promise<object | Reply | Response>;
