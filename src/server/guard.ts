/**
 * Checks that protect every route before its handler runs: Host and Origin headers, body sizes, rate limits,
 * response headers.
 */
import type { Clock } from "../std/clock.ts";
import { hostName, isLoopbackName } from "../std/loopback.ts";
import { RequestError } from "./problem.ts";

/** The accepted names in Host headers. `any` leaves the check to the program that mounts the handler. */
export type AllowedHosts = "any" | "loopback" | readonly string[];

/**
 * Prevents DNS rebinding: a request from a web site whose name resolves to this machine still has that name
 * in its Host header.
 */
export function requireKnownHost(headers: Headers, url: URL, hosts: AllowedHosts): void {
  if (hosts === "any" || isAllowed(headers.get("host") ?? url.host, hosts)) return;
  throw new RequestError("host_unknown", "The Host header does not name this server.", {
    hint: "Start the server with --allow-host NAME to accept another name.",
  });
}

function isAllowed(host: string, hosts: Exclude<AllowedHosts, "any">): boolean {
  const name = hostName(host);
  return hosts === "loopback" ? isLoopbackName(name) : hosts.includes(name) || isLoopbackName(name);
}

const SAFE_METHODS: readonly string[] = ["GET", "HEAD", "OPTIONS"];

/** Rejects changes that another web site triggers in a browser. Programs send neither of the two headers. */
export function requireOwnOrigin(method: string, headers: Headers, hosts: AllowedHosts): void {
  if (SAFE_METHODS.includes(method)) return;
  const site = headers.get("sec-fetch-site");
  const isForeignSite = site !== null && site !== "same-origin" && site !== "none";
  const origin = headers.get("origin");
  if (!isForeignSite && (origin === null || isOwnOrigin(origin, headers, hosts))) return;
  throw new RequestError("origin_refused", "Another web site made this request.");
}

function isOwnOrigin(origin: string, headers: Headers, hosts: AllowedHosts): boolean {
  if (!URL.canParse(origin)) return false; // `null`: a sandboxed frame or a file
  const { host } = new URL(origin);
  return host === headers.get("host") || (Array.isArray(hosts) && hosts.includes(hostName(host)));
}

/** Reads a body up to a limit. A larger body is rejected before all of it is read. */
export async function readBody(request: Request, bytesMax: number): Promise<string> {
  refuseLarge(Number(request.headers.get("content-length") ?? 0), bytesMax);
  if (request.body === null) return "";
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    refuseLarge(bytes, bytesMax);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** Passes a body through, and fails if it exceeds the limit. */
export function limitedStream(request: Request, bytesMax: number): ReadableStream<Uint8Array> | null {
  refuseLarge(Number(request.headers.get("content-length") ?? 0), bytesMax);
  let bytes = 0;
  const limiter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      refuseLarge(bytes, bytesMax);
      controller.enqueue(chunk);
    },
  });
  return request.body?.pipeThrough(limiter) ?? null;
}

function refuseLarge(bytes: number, bytesMax: number): void {
  if (bytes <= bytesMax) return;
  throw new RequestError("body_too_large", `The body is larger than ${bytesMax} bytes.`);
}

/** Browsers must send this content type for JSON; a form on another site cannot. */
export function requireJsonType(headers: Headers, expected: string): void {
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === expected || (expected === "application/json" && type.endsWith("+json"))) return;
  throw new RequestError("media_type_unsupported", `The body must have the type ${expected}.`);
}

export interface Rate {
  /** How many requests may arrive at the same time. */
  readonly burst: number;
  readonly perSecond: number;
}

/** A page of the console sends many requests at once, so a burst may be four times as large. */
export function rateOf(perSecond: number): Rate {
  return { burst: 4 * perSecond, perSecond };
}

/** Limits requests with a token bucket for each token or address. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #clock: Pick<Clock, "now">;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(rate: Rate, clock: Pick<Clock, "now">) {
    this.#rate = rate;
    this.#clock = clock;
  }

  /** Throws `rate_limited` with the time to wait if the bucket is empty. */
  take(key: string): void {
    const { burst, perSecond } = this.#rate;
    const now = this.#clock.now();
    const bucket = this.#buckets.get(key) ?? { tokens: burst, at: now };
    const elapsed = Math.max(0, now - bucket.at) / 1000;
    const tokens = Math.min(burst, bucket.tokens + elapsed * perSecond);
    if (tokens < 1) {
      const seconds = String(Math.ceil((1 - tokens) / perSecond));
      throw new RequestError("rate_limited", "Too many requests.", { headers: { "retry-after": seconds } });
    }
    this.#buckets.set(key, { tokens: tokens - 1, at: now });
    if (this.#buckets.size > BUCKETS_MAX) this.#forgetFull(now);
  }

  /** Removes full buckets, because a new bucket is full, too. */
  #forgetFull(now: number): void {
    const { burst, perSecond } = this.#rate;
    for (const [key, { tokens, at }] of this.#buckets)
      if (tokens + ((now - at) / 1000) * perSecond >= burst) this.#buckets.delete(key);
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size <= BUCKETS_MAX) return;
      this.#buckets.delete(key);
    }
  }
}

const BUCKETS_MAX = 10_000;

const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'self'",
  "frame-ancestors 'none'",
].join("; ");

/** Headers of every response. They forbid framing, content sniffing, shared caching and inline scripts. */
const RESPONSE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": CSP,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** Responses that were created with these headers. */
const complete = new WeakSet<Response>();

/** Creates a response with these headers. Adding them later takes as long as the rest of a short response. */
export function textResponse(
  text: string,
  { status, headers }: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
): Response {
  const response = new Response(text, { status, headers: { ...RESPONSE_HEADERS, ...headers } });
  complete.add(response);
  return response;
}

/** Modifies the response instead of copying it, because a copy would be sent as a stream. */
export function addHeaders(response: Response): void {
  if (complete.has(response)) return;
  const { headers } = response;
  for (const [name, value] of Object.entries(RESPONSE_HEADERS))
    if (!headers.has(name)) headers.set(name, value);
}
