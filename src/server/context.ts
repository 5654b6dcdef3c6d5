/** What a handler of a route gets besides its input, and how it answers with more than a document. */
import type { Config } from "../config/settings.ts";
import type { Engine } from "../engine.ts";
import type { Clock } from "../std/clock.ts";
import type { Login } from "./auth/login.ts";
import type { Principal } from "./auth/principal.ts";
import type { RouteSpec } from "./contract/route.ts";
import type { RouteInput } from "./contract.ts";
import type { EventHub } from "./event-hub.ts";
import type { OperationRunner } from "./operation-runner.ts";
import type { Redactor } from "./redact.ts";

/** What all requests of one server share. */
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

/** What `fetch` can learn from the program that calls it. */
export interface Connection {
  readonly remoteAddress?: string | undefined;
}

/** Wraps the answer to each request, for traces. `answer` never rejects. */
export type TraceRequest = (
  request: Request,
  answer: () => Promise<{ readonly response: Response; readonly route: string }>,
) => Promise<Response>;

/** What a request leaves for the log. */
export interface Seen {
  route: string;
  principal: string | undefined;
}

export interface RequestContext extends ServerContext {
  readonly principal: Principal;
  /** Masks what the role may not see; null if it may see everything. */
  readonly redactor: Redactor | null;
  /** The author of the changes that the request makes. */
  readonly author: string;
  readonly headers: Headers;
  /** Returns a signal that is aborted when the client is gone or the server stops. Most handlers need none. */
  readonly signal: () => AbortSignal;
  /** The body of a route that reads it as a stream. */
  readonly stream: ReadableStream<Uint8Array> | null;
}

/** A document with headers or another status than that of the contract. */
export class Reply {
  readonly document: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number | undefined;

  constructor(document: unknown, headers: Readonly<Record<string, string>> = {}, status?: number) {
    this.document = document;
    this.headers = headers;
    this.status = status;
  }
}

/** Answers with a JSON document, a document with headers, or a whole response. */
export type Handler<Route extends RouteSpec> = (
  context: RequestContext,
  input: RouteInput<Route>,
) => Promise<object | Reply | Response>;
