/**
 * A typed client of the HTTP API for programs and browsers. Its types come from the contract; no server code
 * is loaded.
 */
import type { RequestOf, ResponseOf, RouteName } from "./contract.ts";

export type { RequestOf, ResponseOf, RouteName } from "./contract.ts";

export interface ClientOptions {
  /** The URL of the API, e.g. `https://redrive.example/api/v1`. */
  readonly url: string;
  /** A token. Browsers omit it and use the session cookie. */
  readonly token?: string;
  /** Default: the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** An error that the server reported (RFC 9457). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  readonly field: string | undefined;
  /** How many seconds to wait before the next attempt, if the server requested a delay. */
  readonly retryAfter: number | undefined;

  constructor(status: number, problem: Readonly<Record<string, unknown>>, retryAfter?: number) {
    super(text(problem.detail) ?? `The server answered ${status}.`);
    this.status = status;
    this.code = text(problem.code) ?? "unknown";
    this.hint = text(problem.hint);
    this.field = text(problem.field);
    this.retryAfter = retryAfter;
  }
}

/** Parts of a request that the route does not have may be omitted. */
type Present<Request> = {
  readonly [Key in keyof Request as undefined extends Request[Key]
    ? never
    : object extends Request[Key]
      ? never
      : Key]: Request[Key];
} & {
  readonly [Key in keyof Request as undefined extends Request[Key]
    ? never
    : object extends Request[Key]
      ? Key
      : never]?: Request[Key];
};

/** Headers and a signal, accepted for every request. */
export interface CallOptions {
  /** A request that is repeated with the same key returns the first response. */
  readonly idempotencyKey?: string;
  /** The ETag of the state that was read; required for edits. */
  readonly ifMatch?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** The body of a route that takes a stream. */
  readonly stream?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

export type CallInput<Name extends RouteName> = Present<RequestOf<Name>> & CallOptions;

/** A response with its ETag. */
export interface Answer<Name extends RouteName> {
  readonly data: ResponseOf<Name>;
  readonly etag: string | null;
}

export class RedriveClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Calls a route: `client.call("GET /letters", { query: { job: "nightly" } })`. Throws `ApiError`. */
  async call<Name extends RouteName>(
    name: Name,
    ...input: object extends CallInput<Name> ? [CallInput<Name>?] : [CallInput<Name>]
  ): Promise<ResponseOf<Name>> {
    return (await this.request(name, ...input)).data;
  }

  /** Like `call`, but also returns the ETag of the response. */
  async request<Name extends RouteName>(
    name: Name,
    ...[input]: object extends CallInput<Name> ? [CallInput<Name>?] : [CallInput<Name>]
  ): Promise<Answer<Name>> {
    const request = this.#requestFor(name, (input ?? {}) as LooseInput);
    const response = await (this.#options.fetch ?? fetch)(request);
    if (!response.ok) throw await errorOf(response);
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    const data = isJson ? await response.json() : response;
    return { data: data as ResponseOf<Name>, etag: response.headers.get("etag") };
  }

  /** The URL of a route, for links and for `EventSource`. */
  urlOf<Name extends RouteName>(
    name: Name,
    ...[input]: object extends CallInput<Name> ? [CallInput<Name>?] : [CallInput<Name>]
  ): string {
    return this.#urlFor(name, (input ?? {}) as LooseInput);
  }

  #urlFor(name: RouteName, { params = {}, query = {} }: LooseInput): string {
    const [, path = ""] = name.split(" ");
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(String(params[key])));
    const search = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) {
      const values = Array.isArray(value) ? value : [value];
      for (const one of values) if (one !== undefined) search.append(key, String(one));
    }
    const text = search.size > 0 ? `?${search}` : "";
    return this.#options.url.replace(/\/$/, "") + filled + text;
  }

  #requestFor(name: RouteName, input: LooseInput): Request {
    const [method = ""] = name.split(" ");
    const { token } = this.#options;
    const headers = new Headers(input.headers);
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    if (input.idempotencyKey !== undefined) headers.set("idempotency-key", input.idempotencyKey);
    if (input.ifMatch !== undefined) headers.set("if-match", input.ifMatch);
    if (input.body !== undefined) headers.set("content-type", "application/json");
    const body = input.body === undefined ? input.stream : JSON.stringify(input.body);
    const streaming = input.stream instanceof ReadableStream ? ({ duplex: "half" } as const) : {};
    return new Request(this.#urlFor(name, input), {
      method,
      headers,
      ...streaming,
      ...(body !== undefined && { body }),
      ...(input.signal && { signal: input.signal }),
    });
  }
}

interface LooseInput extends CallOptions {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

async function errorOf(response: Response): Promise<ApiError> {
  const problem: unknown = await response.json().catch(() => ({}));
  const fields = typeof problem === "object" && problem !== null ? problem : {};
  const wait = Number(response.headers.get("retry-after") ?? Number.NaN);
  return new ApiError(response.status, { ...fields }, Number.isNaN(wait) ? undefined : wait);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
