/**
 * Sends receipts as MCP tool calls over streamable HTTP. The official SDK implements the protocol and sends its requests
 * through http.ts. All calls share one session, which is reopened when the server has dropped it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { isJsonObject, type Json, type JsonObject, tagBigints, untagBigints } from "../std/json.ts";
import { loadOptional } from "../std/optional-package.ts";
import { messageOf } from "../std/thrown.ts";
import { jsonOf } from "./error-body.ts";
import {
  askFollowing,
  HttpExchange,
  headersOf,
  idOf,
  maskedAnswer,
  NoAnswer,
  outcomeOfNoAnswer,
  requireSameToken,
} from "./http.ts";
import {
  type DeliveryOutcome,
  type HttpAnswer,
  type NotDelivered,
  outcomeOfHttp,
  outcomeOfLostAnswer,
  outcomeOfMessage,
  outcomeOfNoConnection,
} from "./outcome.ts";
import type { DeliveryCall, Protocol, Reachability } from "./protocol.ts";
import type { DeliverySpec } from "./target-settings.ts";
import { type Environment, readToken, type Token } from "./token.ts";

/** The context of one call: the settings of its requests and the last response. */
interface McpCall {
  readonly settings: DeliverySpec;
  readonly token: Token | undefined;
  readonly signal: AbortSignal;
  readonly key?: string;
  answer: HttpAnswer | null;
  noAnswer: NoAnswer | null;
}

type Session = { readonly url: string; readonly opening: Promise<McpSession> };

export class McpProtocol implements Protocol {
  readonly #env: Environment;
  readonly #exchange = new HttpExchange();
  readonly #calls = new AsyncLocalStorage<McpCall>();
  readonly #closed = new AbortController();
  #session: Session | null = null;

  constructor(env: Environment = process.env) {
    this.#env = env;
  }

  async deliver(receipt: Json, call: DeliveryCall): Promise<DeliveryOutcome> {
    const { settings, signal, key } = call;
    if (!isJsonObject(receipt)) return noObject();
    const token = await readToken(settings.token, this.#env);
    const outcome = await this.#call(receipt, { settings, token, signal, key, ...NEW });
    if (outcome.status === "auth") await requireSameToken(token, settings, this.#env);
    return outcome;
  }

  async probe(settings: DeliverySpec, signal: AbortSignal): Promise<Reachability> {
    const token = await readToken(settings.token, this.#env);
    const call: McpCall = { settings, token, signal, ...NEW };
    try {
      const session = await this.#sessionFor(call).opening;
      await this.#calls.run(call, () => session.ping());
      return { isReachable: true, detail: "it answers" };
    } catch (error) {
      const outcome = outcomeOfTrouble(error, call);
      if (outcome.status === "delivered") return { isReachable: true, detail: "it answers" };
      return {
        isReachable: outcome.errorClass !== "outage" && outcome.status !== "unknown",
        detail: outcome.message,
      };
    }
  }

  async close(): Promise<void> {
    const session = await this.#session?.opening.catch(() => null);
    this.#session = null;
    if (session) await this.#endSession(session);
    this.#closed.abort();
    this.#exchange.close();
  }

  /** Retries once in a new session if the server has dropped ours, e.g. after a restart: it did not process the call. */
  async #call(receipt: JsonObject, call: McpCall & { readonly key: string }): Promise<DeliveryOutcome> {
    try {
      const known = this.#session;
      const opened = this.#sessionFor(call);
      const outcome = await this.#callIn(await opened.opening, receipt, call);
      const isForgotten = opened === known && (call.answer?.status === 404 || call.answer?.status === 400);
      if (!isForgotten) return outcome;
      if (this.#session === opened) this.#session = null;
      Object.assign(call, NEW);
      return await this.#callIn(await this.#sessionFor(call).opening, receipt, call);
    } catch (error) {
      if (error instanceof NotOpened) return error.outcome;
      throw error;
    }
  }

  async #callIn(session: McpSession, receipt: JsonObject, call: McpCall & { key: string }) {
    const { settings, key } = call;
    const { tool, keyArgument } = settings;
    const args = keyArgument === undefined ? receipt : { ...receipt, [keyArgument]: key };
    try {
      const result = await this.#calls.run(call, () =>
        session.callTool({ name: tool, arguments: args, _meta: { [KEY_IN_META]: key } }),
      );
      return outcomeOfMessage(result, { key, now: Date.now() }) ?? { status: "delivered" };
    } catch (error) {
      return outcomeOfTrouble(error, call);
    }
  }

  #sessionFor(call: McpCall): Session {
    const { url = "" } = call.settings;
    if (this.#session?.url === url) return this.#session;
    const opened = { url, opening: this.#open(call) };
    opened.opening.catch(() => {
      if (this.#session === opened) this.#session = null; // the next call opens another session
    });
    this.#session = opened;
    return opened;
  }

  /** Opens a session with its own abort signal: all calls share it, so aborting the first call must not close it. */
  async #open({ settings, token }: McpCall): Promise<McpSession> {
    const call: McpCall = { settings, token, signal: this.#closed.signal, ...NEW };
    try {
      return await this.#calls.run(call, () => openSession(settings, this.#fetch));
    } catch (error) {
      throw new NotOpened(notOpened(error, call));
    }
  }

  async #endSession(session: McpSession): Promise<void> {
    const settings = { ...session.settings, timeoutMs: END_MS };
    const token = await readToken(settings.token, this.#env).catch(() => undefined);
    const call: McpCall = { settings, token, signal: this.#closed.signal, ...NEW };
    await this.#calls.run(call, () => session.close()).catch(() => undefined); // best effort
  }

  readonly #fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const call = this.#calls.getStore();
    const { method = "GET" } = init;
    if (method === "GET") return new Response(null, { status: 405 }); // unsolicited messages are not read
    if (call === undefined) return new Response(null, { status: 202 }); // requests outside of a call are not sent
    const { settings, token, signal, key } = call;
    const headers = {
      ...headersOf(settings, token),
      ...Object.fromEntries(new Headers(init.headers)),
      ...(token && { authorization: `Bearer ${token.value}` }),
      ...(key !== undefined && idOf(settings, key)),
    };
    const body = typeof init.body === "string" ? { body: init.body } : {};
    call.answer = null;
    try {
      const at = { ...settings, url: String(url) };
      const request = { method, headers, ...body, signal, isEnough: hasRpcAnswer };
      const answer = maskedAnswer(await askFollowing(this.#exchange, request, at), token);
      call.answer = answer;
      return responseOf(answer, answer.headers);
    } catch (error) {
      if (error instanceof NoAnswer) call.noAnswer = error;
      throw error;
    }
  };
}

/** The field of `_meta` that carries the idempotency key, in addition to the header. */
const KEY_IN_META = "idempotency_key";
const END_MS = 1000;
const NEW = { answer: null, noAnswer: null } as const;

/** The session could not be opened, so the receipt was not sent. */
class NotOpened extends Error {
  readonly outcome: NotDelivered;

  constructor(outcome: NotDelivered) {
    super(outcome.message);
    this.outcome = outcome;
  }
}

/** Maps a lost response to an outage instead of an unknown result, because the receipt was not sent yet. */
function notOpened(error: unknown, call: McpCall): NotDelivered {
  const outcome = outcomeOfTrouble(error, call);
  if (outcome.status === "delivered") return outcomeOfNoConnection("no session could be opened");
  if (outcome.status !== "unknown") return outcome;
  return outcomeOfNoConnection(`no session could be opened: ${outcome.message}`, call.noAnswer?.errno);
}

/** Derives the outcome of a failed call from the connection, the HTTP status or the JSON-RPC message, in that order. */
function outcomeOfTrouble(error: unknown, call: McpCall): DeliveryOutcome {
  if (error instanceof NotOpened) return error.outcome;
  const { settings, token, noAnswer, answer, key = "" } = call;
  if (noAnswer !== null) return outcomeOfNoAnswer(noAnswer, settings, token);
  const asked = { key, now: Date.now() };
  if (answer !== null && (answer.status < 200 || answer.status > 299)) return outcomeOfHttp(answer, asked);
  const message =
    answer === null ? undefined : outcomeOfMessage(rpcAnswerOf(answer.contentType, answer.body), asked);
  if (message !== undefined) return message;
  const why =
    answer === null || answer.end === "whole"
      ? (messageOf(error).split("\n")[0] ?? "")
      : `the answer was ${answer.end}`;
  return outcomeOfLostAnswer(`The answer cannot be parsed: ${token?.mask(why) ?? why}`);
}

/** Throws for an incomplete response or a stream without a message, because the SDK would wait for more. */
function responseOf(answer: HttpAnswer, headers: Readonly<Record<string, string>>): Response {
  const isGood = answer.status >= 200 && answer.status <= 299;
  if (isGood && answer.end !== "whole") throw new Error(`the answer was ${answer.end}`);
  if (!isGood && answer.status >= 300 && answer.status <= 399)
    throw new Error("a redirect that is not followed");
  const isSilent =
    answer.contentType.startsWith("text/event-stream") && !hasRpcAnswer(answer.contentType, answer.body);
  if (isGood && isSilent) throw new Error("the stream ended without an answer");
  const { "content-length": _, "transfer-encoding": __, connection: ___, ...kept } = headers;
  const isEmpty = answer.status === 204 || answer.status === 205 || answer.status === 304;
  return new Response(isEmpty ? null : answer.body, { status: answer.status, headers: kept });
}

function noObject(): NotDelivered {
  return {
    status: "refused",
    errorType: { name: "ClientError" },
    errorClass: "permanent",
    message: "The receipt is not a JSON object, but tool arguments must be one",
  };
}

/** Returns the JSON-RPC message with a result or an error, if it has arrived. */
export function rpcAnswerOf(contentType: string, body: string): JsonObject | undefined {
  const texts = contentType.startsWith("text/event-stream") ? eventsOf(body) : [body];
  return texts
    .flatMap((text) => messagesOf(jsonOf(text)))
    .find((message) => "result" in message || "error" in message);
}

/** Whether an event stream already contains the response message. Other responses are read to their end. */
export function hasRpcAnswer(contentType: string, body: string): boolean {
  return contentType.startsWith("text/event-stream") && rpcAnswerOf(contentType, body) !== undefined;
}

function eventsOf(stream: string): readonly string[] {
  const events = stream.replaceAll(/\r\n?/g, "\n").split("\n\n").slice(0, -1);
  return events.map((event) =>
    event
      .split("\n")
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice("data:".length).replace(/^ /, ""))
      .join("\n"),
  );
}

function messagesOf(json: unknown): readonly JsonObject[] {
  return (Array.isArray(json) ? json : [json]).filter(isJsonObject);
}

export interface McpSession {
  readonly settings: DeliverySpec;
  callTool(call: {
    readonly name: string;
    readonly arguments: JsonObject;
    readonly _meta: Readonly<Record<string, unknown>>;
  }): Promise<unknown>;
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Added to the SDK's timeout, so that the connection times out first. */
const SPARE_MS = 1000;

export async function openSession(settings: DeliverySpec, fetch: Fetch): Promise<McpSession> {
  const { Client, StreamableHTTPClientTransport } = await loadSdk();
  const client = new Client({ name: "redrive", version: "1" });
  // The SDK uses JSON.stringify, which rejects bigints, so they are tagged first and restored in the request body.
  const tag = randomUUID();
  const transport = new StreamableHTTPClientTransport(new URL(settings.url ?? ""), {
    fetch: (url, init) =>
      fetch(url, typeof init?.body === "string" ? { ...init, body: untagBigints(init.body, tag) } : init),
  });
  const timeout = settings.timeoutMs + SPARE_MS;
  // Cast because the SDK's class does not implement its own interface under `exactOptionalPropertyTypes`.
  await client.connect(transport as Parameters<typeof client.connect>[0], { timeout });
  return {
    settings,
    callTool: (call) => {
      const tagged = JSON.parse(tagBigints(call.arguments, tag)) as Record<string, unknown>;
      return client.callTool({ ...call, arguments: tagged }, undefined, { timeout });
    },
    ping: () => client.ping({ timeout }),
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}

/** Loads the SDK, an optional package. Throws a `usage` error when it is not installed. */
export function loadSdk(load = importSdk) {
  return loadOptional("@modelcontextprotocol/sdk", "Receipts over MCP need", load);
}

async function importSdk() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import(
    "@modelcontextprotocol/sdk/client/streamableHttp.js"
  );
  return { Client, StreamableHTTPClientTransport };
}
