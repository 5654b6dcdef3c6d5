/**
 * Sends receipts as calls of an MCP tool over streamable HTTP. The official SDK implements the protocol, over the same
 * connections and with the same rules as plain HTTP. One session is used for all calls, and replaced when the server no
 * longer knows it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { WorkError } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject, markBigints, unmarkBigints } from "../std/json.ts";
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

/** What goes over the wire on behalf of one call, and what came back last. */
interface Errand {
  readonly settings: DeliverySpec;
  readonly token: Token | undefined;
  readonly signal: AbortSignal;
  readonly key?: string;
  answer: HttpAnswer | null;
  noAnswer: NoAnswer | null;
}

/** A session that is open or about to be, and the address that it belongs to. */
interface Place {
  readonly url: string;
  readonly opening: Promise<McpSession>;
}

export class McpProtocol implements Protocol {
  readonly #env: Environment;
  readonly #exchange = new HttpExchange();
  /** The call that a request of the SDK belongs to. */
  readonly #errands = new AsyncLocalStorage<Errand>();
  readonly #closed = new AbortController();
  #place: Place | null = null;

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
    const errand: Errand = { settings, token, signal, ...NEW };
    try {
      const session = await this.#placeFor(errand).opening;
      await this.#errands.run(errand, () => session.ping());
      return { isReachable: true, detail: "it answers" };
    } catch (error) {
      const outcome = outcomeOfTrouble(error, errand);
      if (outcome.status === "delivered") return { isReachable: true, detail: "it answers" };
      return {
        isReachable: outcome.errorClass !== "outage" && outcome.status !== "unknown",
        detail: outcome.message,
      };
    }
  }

  async close(): Promise<void> {
    const session = await this.#place?.opening.catch(() => null);
    this.#place = null;
    if (session) await this.#sayGoodbye(session);
    this.#closed.abort();
    this.#exchange.close();
  }

  /** A session that the other side has forgotten (it was restarted) is begun anew, once: nothing was done with the call. */
  async #call(receipt: JsonObject, errand: Errand & { readonly key: string }): Promise<DeliveryOutcome> {
    try {
      const known = this.#place;
      const place = this.#placeFor(errand);
      const outcome = await this.#callIn(await place.opening, receipt, errand);
      const isForgotten = place === known && (errand.answer?.status === 404 || errand.answer?.status === 400);
      if (!isForgotten) return outcome;
      if (this.#place === place) this.#place = null;
      Object.assign(errand, NEW);
      return await this.#callIn(await this.#placeFor(errand).opening, receipt, errand);
    } catch (error) {
      if (error instanceof NotOpened) return error.outcome;
      throw error;
    }
  }

  async #callIn(
    session: McpSession,
    receipt: JsonObject,
    errand: Errand & { readonly key: string },
  ): Promise<DeliveryOutcome> {
    const { settings, key } = errand;
    const { tool, keyArgument } = settings;
    const args = keyArgument === undefined ? receipt : { ...receipt, [keyArgument]: key };
    try {
      const result = await this.#errands.run(errand, () =>
        session.callTool({ name: tool, arguments: args, _meta: { [KEY_IN_META]: key } }),
      );
      return outcomeOfMessage(result, { key, now: Date.now() }) ?? { status: "delivered" };
    } catch (error) {
      return outcomeOfTrouble(error, errand);
    }
  }

  #placeFor(errand: Errand): Place {
    const { url = "" } = errand.settings;
    if (this.#place?.url === url) return this.#place;
    const place = { url, opening: this.#open(errand) };
    place.opening.catch(() => {
      if (this.#place === place) this.#place = null; // the next call tries again
    });
    this.#place = place;
    return place;
  }

  /** It belongs to all calls, so the end of the one that began it does not end it. */
  async #open({ settings, token }: Errand): Promise<McpSession> {
    const errand: Errand = { settings, token, signal: this.#closed.signal, ...NEW };
    try {
      return await this.#errands.run(errand, () => openSession(settings, this.#fetch));
    } catch (error) {
      throw new NotOpened(notOpened(error, errand));
    }
  }

  async #sayGoodbye(session: McpSession): Promise<void> {
    const settings = { ...session.settings, timeoutMs: GOODBYE_MS };
    const token = await readToken(settings.token, this.#env).catch(() => undefined);
    const errand: Errand = { settings, token, signal: this.#closed.signal, ...NEW };
    await this.#errands.run(errand, () => session.close()).catch(() => undefined); // it would end by itself, too
  }

  /** The `fetch` of the SDK. */
  readonly #fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const errand = this.#errands.getStore();
    const { method = "GET" } = init;
    if (method === "GET") return new Response(null, { status: 405 }); // nobody listens to what is said unasked
    if (errand === undefined) return new Response(null, { status: 202 }); // what belongs to nobody's call goes nowhere
    const { settings, token, signal, key } = errand;
    const headers = {
      ...headersOf(settings, token),
      ...Object.fromEntries(new Headers(init.headers)),
      ...(token && { authorization: `Bearer ${token.value}` }),
      ...(key !== undefined && idOf(settings, key)),
    };
    const body = typeof init.body === "string" ? { body: init.body } : {};
    errand.answer = null;
    try {
      const at = { ...settings, url: String(url) };
      const request = { method, headers, ...body, signal, isEnough: hasRpcAnswer };
      const answer = maskedAnswer(await askFollowing(this.#exchange, request, at), token);
      errand.answer = answer;
      return responseOf(answer, answer.headers);
    } catch (error) {
      if (error instanceof NoAnswer) errand.noAnswer = error;
      throw error;
    }
  };
}

/** Where the idempotency key is in a call, beside the header. */
const KEY_IN_META = "idempotency_key";
const GOODBYE_MS = 1000;
const NEW = { answer: null, noAnswer: null } as const;

/** The session could not be opened, so nothing was sent. */
class NotOpened extends Error {
  readonly outcome: NotDelivered;

  constructor(outcome: NotDelivered) {
    super(outcome.message);
    this.outcome = outcome;
  }
}

/** The receipt was not sent, so an answer that got lost tells nothing but that the other side is not there. */
function notOpened(error: unknown, errand: Errand): NotDelivered {
  const outcome = outcomeOfTrouble(error, errand);
  if (outcome.status === "delivered") return outcomeOfNoConnection("no session could be begun");
  if (outcome.status !== "unknown") return outcome;
  return outcomeOfNoConnection(`no session could be begun: ${outcome.message}`, errand.noAnswer?.errno);
}

/** Why a call was not answered with a result: by the connection, the status, or the message inside the answer. */
function outcomeOfTrouble(error: unknown, errand: Errand): DeliveryOutcome {
  if (error instanceof NotOpened) return error.outcome;
  const { settings, token, noAnswer, answer, key = "" } = errand;
  if (noAnswer !== null) return outcomeOfNoAnswer(noAnswer, { settings, mask: token?.mask });
  const asked = { key, now: Date.now() };
  if (answer !== null && (answer.status < 200 || answer.status > 299)) return outcomeOfHttp(answer, asked);
  const message =
    answer === null ? undefined : outcomeOfMessage(rpcAnswerOf(answer.contentType, answer.body), asked);
  if (message !== undefined) return message;
  const why = answer === null || answer.end === "whole" ? said(error) : `the answer was ${answer.end}`;
  return outcomeOfLostAnswer(`The answer cannot be understood: ${token?.mask(why) ?? why}`);
}

function said(error: unknown): string {
  return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
}

/** An answer that did not come whole, or says nothing in a stream, is none for the SDK, which would wait for more. */
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
    message: "The receipt is no JSON object, and the arguments of a tool are one",
  };
}

/** The JSON-RPC message that has a result or an error; undefined when none has come. */
export function rpcAnswerOf(contentType: string, body: string): JsonObject | undefined {
  const texts = contentType.startsWith("text/event-stream") ? eventsOf(body) : [body];
  return texts
    .flatMap((text) => messagesOf(jsonOf(text)))
    .find((message) => "result" in message || "error" in message);
}

/** Whether it has come; of a stream, whatever else may come after it. Anything else is read to its end. */
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

/** The connection has its own time limit; that of the SDK only keeps a call from waiting for ever. */
const SPARE_MS = 1000;

export async function openSession(settings: DeliverySpec, fetch: Fetch): Promise<McpSession> {
  const { Client, StreamableHTTPClientTransport } = await loadSdk();
  const client = new Client({ name: "redrive", version: "1" });
  // The SDK writes the request with JSON.stringify, which has no bigints.
  const mark = randomUUID();
  const transport = new StreamableHTTPClientTransport(new URL(settings.url ?? ""), {
    fetch: (url, init) =>
      fetch(url, typeof init?.body === "string" ? { ...init, body: unmarkBigints(init.body, mark) } : init),
  });
  const timeout = settings.timeoutMs + SPARE_MS;
  // The SDK's class has optional members without `undefined` in their types, which its own interface does not allow here.
  await client.connect(transport as Parameters<typeof client.connect>[0], { timeout });
  return {
    settings,
    callTool: (call) => {
      const marked = JSON.parse(markBigints(call.arguments, mark)) as Record<string, unknown>;
      return client.callTool({ ...call, arguments: marked }, undefined, { timeout });
    },
    ping: () => client.ping({ timeout }),
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}

/** Rejects where the package is not installed: only targets that speak MCP need it. */
export async function loadSdk(load = importSdk) {
  try {
    return await load();
  } catch (error) {
    if (!isMissingModule(error)) throw error;
    throw new WorkError("usage", "Receipts over MCP need a package that is not installed.", {
      hint: "Install @modelcontextprotocol/sdk beside redrive: `npm install @modelcontextprotocol/sdk` (with -g where redrive is global).",
      cause: error,
    });
  }
}

async function importSdk() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import(
    "@modelcontextprotocol/sdk/client/streamableHttp.js"
  );
  return { Client, StreamableHTTPClientTransport };
}

function isMissingModule(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
}
