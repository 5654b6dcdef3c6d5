/**
 * Stores the responses to POST requests by their `Idempotency-Key` for a day, so that a client can repeat a
 * request whose response was lost. The key is written before the request is processed. After a crash, a
 * repeated request either finds its response, or is processed again if that is safe.
 */
import { createHash } from "node:crypto";
import type { Engine } from "../engine.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import type { Principal } from "./auth/principal.ts";
import type { RouteSpec } from "./contract/route.ts";
import { RequestError } from "./problem.ts";

const KEPT_MS = 24 * 3_600_000;
const BODY_CHARS_MAX = 64 * 1024;
/** Documents are never deleted, so the entries share a fixed number of documents. */
const BUCKETS = 256;

interface Entry {
  readonly at: number;
  /** Identifies the request: the route and the body. */
  readonly request: string;
  /** Absent until the request has ended. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface KeyedRequest {
  readonly principal: Principal;
  readonly key: string;
  readonly route: RouteSpec;
  /** The path with its parameters, the query and the body. */
  readonly request: string;
}

/** Requests in progress in this process, so that a concurrent duplicate can wait for the response. */
const running = new Set<string>();

/** Returns the stored response, or processes the request and stores its response. */
export async function once(
  engine: Engine,
  keyed: KeyedRequest,
  act: () => Promise<Response>,
): Promise<Response> {
  const { principal, key, route } = keyed;
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw new RequestError("request_invalid", "Idempotency-Key must be 1 to 200 visible ASCII characters.");
  const id = digest(`${principal.name}\n${key}`);
  const request = digest(`${route.id}\n${keyed.request}`);
  if (running.has(id)) throw inUse("The first request with this key has not ended yet.");
  running.add(id);
  try {
    const found = await reserve(engine, id, request);
    if (found !== null) {
      if (found.request !== request) throw reused();
      if (found.status !== undefined) return replay(found);
      if (!route.isRepeatable)
        throw inUse("The first request with this key was interrupted, and its result is unknown.");
    }
    const response = await act();
    await record(engine, id, { request, response });
    return response;
  } finally {
    running.delete(id);
  }
}

/** Writes the key, or returns the existing entry. */
async function reserve(engine: Engine, id: string, request: string): Promise<Entry | null> {
  let found: Entry | null = null;
  await change(engine, id, (entries, now) => {
    found = entries[id] ?? null;
    return found === null ? { ...entries, [id]: { at: now, request } } : null;
  });
  return found;
}

/** Server errors are not stored, because a retry may succeed. Responses that are too large are not stored either. */
async function record(
  engine: Engine,
  id: string,
  { request, response }: { readonly request: string; readonly response: Response },
): Promise<void> {
  const body = await response.clone().text();
  const isKept = response.status < 500 && body.length <= BODY_CHARS_MAX;
  const headers = Object.fromEntries(
    ["content-type", "etag"].flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
  await change(engine, id, (entries, now) => {
    const { [id]: _, ...others } = entries;
    return isKept
      ? { ...others, [id]: { at: now, request, status: response.status, headers, body } }
      : others;
  });
}

function replay({ status = 200, headers = {}, body = "" }: Entry): Response {
  return new Response(body, { status, headers: { ...headers, "idempotency-replayed": "true" } });
}

type Entries = Readonly<Record<string, Entry>>;

/** Changes the key's bucket and drops old entries. A null result changes nothing. */
async function change(
  engine: Engine,
  id: string,
  update: (entries: Entries, now: number) => Entries | null,
): Promise<void> {
  const name = `server/keys/${Number.parseInt(id.slice(0, 4), 16) % BUCKETS}`;
  for (;;) {
    const document = await engine.readDocument(name);
    const now = await engine.now();
    const kept = isJsonObject(document?.body) ? (document.body as unknown as Entries) : {};
    const fresh = Object.fromEntries(Object.entries(kept).filter(([, { at }]) => at > now - KEPT_MS));
    const updated = update(fresh, now);
    if (updated === null) return;
    const body = updated as unknown as JsonObject satisfies Json;
    if (await engine.writeDocument(name, { seen: document?.version ?? 0, body })) return;
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function reused(): RequestError {
  return new RequestError("key_reused", "The Idempotency-Key was used for another request.", {
    hint: "Use a new key for each request; repeat a key only with the same request.",
  });
}

function inUse(message: string): RequestError {
  return new RequestError("key_in_use", message, {
    hint: "Check whether the first request took effect before you send it again with a new key.",
  });
}
