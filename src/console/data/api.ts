/** Calls the API of the server that serves the console, below its base path. */
import {
  type Answer,
  ApiError,
  type CallInput,
  type CallOptions,
  RedriveClient,
  type ResponseOf,
  type RouteName,
} from "../../server/client.ts";

export const api = new RedriveClient({
  url: new URL("api/v1", document.baseURI).href,
  fetch: async (request) => {
    try {
      return await fetch(request);
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw unreachable();
    }
  },
});

function unreachable(): ApiError {
  const hint = "Check that `redrive serve` is running. The page retries automatically.";
  return new ApiError(0, { code: "unreachable", detail: "The server does not answer.", hint });
}

export type Given<Name extends RouteName> = Omit<CallInput<Name>, keyof CallOptions>;

/**
 * Calls a route and returns the response body. Every POST has an idempotency key, so that a repeated request
 * has no second effect.
 */
export async function call<Name extends RouteName>(
  name: Name,
  given: Given<Name>,
  options: CallOptions = {},
): Promise<ResponseOf<Name>> {
  return (await request(name, given, options)).data;
}

/** Like `call`, but returns the ETag too, which an edit must send back. */
export function request<Name extends RouteName>(
  name: Name,
  given: Given<Name>,
  options: CallOptions = {},
): Promise<Answer<Name>> {
  const key = name.startsWith("POST") ? { idempotencyKey: randomKey() } : {};
  return requestLoosely(name, { ...given, ...key, ...options }) as Promise<Answer<Name>>;
}

/** The parts of a request are checked by `Given`, which the client's own rest parameter cannot infer from a type variable. */
const requestLoosely = api.request.bind(api) as (
  name: RouteName,
  input: object,
) => Promise<Answer<RouteName>>;
const urlLoosely = api.urlOf.bind(api) as (name: RouteName, input: object) => string;

/** `crypto.randomUUID` exists only on secure origins, and a console may be served over plain HTTP behind a proxy. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The address of a route, for downloads and event streams. */
export function urlOf<Name extends RouteName>(name: Name, given: Given<Name>): string {
  return urlLoosely(name, given);
}

export function isApiError(error: unknown): error is ApiError {
  return error instanceof ApiError;
}
