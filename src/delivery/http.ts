/** Sends receipts as HTTP POST requests with JSON. Redirects stay within the origin, so no other host gets the token. */

import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps, Agent as SecureAgent } from "node:https";
import { formatDuration } from "../std/duration.ts";
import { type Json, stringifyJson } from "../std/json.ts";
import { codeOf } from "../std/thrown.ts";
import {
  type DeliveryOutcome,
  type HttpAnswer,
  outcomeOfHttp,
  outcomeOfLostAnswer,
  outcomeOfNoConnection,
} from "./outcome.ts";
import type { DeliveryCall, Protocol, Reachability } from "./protocol.ts";
import type { DeliverySpec } from "./target-settings.ts";
import { type Environment, isStillToken, readToken, type Token } from "./token.ts";

const REDIRECTS_MAX = 3;

export class HttpProtocol implements Protocol {
  readonly #env: Environment;
  readonly #exchange = new HttpExchange();

  constructor(env: Environment = process.env) {
    this.#env = env;
  }

  async deliver(receipt: Json, call: DeliveryCall): Promise<DeliveryOutcome> {
    const { settings, key, signal } = call;
    const token = await readToken(settings.token, this.#env);
    const headers = {
      ...headersOf(settings, token),
      "content-type": "application/json",
      ...idOf(settings, key),
    };
    try {
      const request = { method: "POST", headers, body: stringifyJson(receipt), signal };
      const answer = maskedAnswer(await askFollowing(this.#exchange, request, settings), token);
      const outcome = outcomeOfHttp(answer, { key, now: Date.now() });
      if (outcome.status === "auth") await requireSameToken(token, settings, this.#env);
      return outcome;
    } catch (error) {
      if (error instanceof NoAnswer) return outcomeOfNoAnswer(error, settings, token);
      throw error;
    }
  }

  /** Any response means that the service is reachable, except 502, 503 and 504, which usually come from a proxy. */
  async probe(settings: DeliverySpec, signal: AbortSignal): Promise<Reachability> {
    const token = await readToken(settings.token, this.#env);
    try {
      const request = { method: "HEAD", headers: headersOf(settings, token), signal };
      const { status } = await askFollowing(this.#exchange, request, settings);
      return { isReachable: ![502, 503, 504].includes(status), detail: `HTTP ${status}` };
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      return { isReachable: false, detail: outcomeOfNoAnswer(error, settings, token).message };
    }
  }

  async close(): Promise<void> {
    this.#exchange.close();
  }
}

/** A request without its URL and limits. */
export type Request = Pick<HttpRequest, "method" | "headers" | "body" | "signal" | "isEnough">;

export async function askFollowing(
  exchange: HttpExchange,
  request: Request,
  { url: first = "", timeoutMs, answerBytesMax }: DeliverySpec,
): Promise<WholeAnswer> {
  const deadline = performance.now() + timeoutMs;
  let url = new URL(first);
  for (let followed = 0; ; followed += 1) {
    const answer = await exchange.ask({ ...request, url, deadline, answerBytesMax });
    const next = followed < REDIRECTS_MAX ? redirectOf(answer, url) : undefined;
    if (next === undefined) return answer;
    url = next;
  }
}

/** Throws if the token has changed since the request: the next attempt uses the new one instead of pausing the target. */
export async function requireSameToken(
  used: Token | undefined,
  settings: DeliverySpec,
  env: Environment,
): Promise<void> {
  if (await isStillToken(used, settings.token, env)) return;
  throw new Error("The token changed while the receipt was being sent; it is sent again with the new one.");
}

/** Returns the headers of every request. Headers from the settings cannot override the token. */
export function headersOf(settings: DeliverySpec, token: Token | undefined): Record<string, string> {
  const given = Object.entries(settings.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    accept: "application/json",
    "user-agent": "redrive",
    ...Object.fromEntries(given),
    ...(token && { authorization: `Bearer ${token.value}` }),
  };
}

/** Returns the idempotency header. A key with characters that are invalid in a header is URL-encoded. */
export function idOf({ idHeader }: DeliverySpec, key: string): Record<string, string> {
  const isPlain = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(key);
  return { [idHeader.toLowerCase()]: isPlain ? key : encodeURIComponent(key) };
}

/** Returns the URL of a redirect that keeps the method and the origin, else undefined. */
function redirectOf({ status, location }: WholeAnswer, from: URL): URL | undefined {
  if ((status !== 307 && status !== 308) || location === undefined || !URL.canParse(location, from.href))
    return undefined;
  const to = new URL(location, from);
  return to.origin === from.origin && to.username === "" && to.password === "" ? to : undefined;
}

export function maskedAnswer(answer: WholeAnswer, token: Token | undefined): WholeAnswer {
  if (token === undefined) return answer;
  const { mask } = token;
  const location = answer.location === undefined ? undefined : mask(answer.location);
  const body = mask(answer.body, answer.end !== "whole");
  return { ...answer, statusText: mask(answer.statusText), location, body };
}

export function outcomeOfNoAnswer(
  { message, isSent, errno }: NoAnswer,
  { url = "", timeoutMs }: DeliverySpec,
  token: Token | undefined,
) {
  const { host } = new URL(url);
  const reason = token?.mask(message) ?? message;
  const why = errno === "ETIMEDOUT" ? `no answer within ${formatDuration(timeoutMs)}` : reason;
  return isSent
    ? outcomeOfLostAnswer(`${host} did not answer the request: ${why}`, errno)
    : outcomeOfNoConnection(`${host} cannot be reached: ${why}`, errno);
}

export interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A timestamp of the `performance.now()` clock. */
  readonly deadline: number;
  readonly answerBytesMax: number;
  readonly signal: AbortSignal;
  /** Whether the received part of the body suffices, although the stream is still open. */
  readonly isEnough?: (contentType: string, body: string) => boolean;
}

export type WholeAnswer = HttpAnswer & { readonly headers: Readonly<Record<string, string>> };

export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  /** False when no connection was established, so the receiver did nothing. */
  readonly isSent: boolean;
  readonly errno: string | undefined;

  constructor(message: string, isSent: boolean, errno?: string) {
    super(message);
    this.isSent = isSent;
    this.errno = errno;
  }
}

export class HttpExchange {
  readonly #plain = new Agent({ keepAlive: true });
  readonly #secure = new SecureAgent({ keepAlive: true });

  /** Rejects with `NoAnswer`. Retries once on a new connection if the receiver had closed the reused one. */
  async ask(request: HttpRequest): Promise<WholeAnswer> {
    try {
      return await this.#ask(request, request.url.protocol === "https:" ? this.#secure : this.#plain);
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      return this.#ask(request, false);
    }
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  #ask(request: HttpRequest, agent: Agent | false): Promise<WholeAnswer> {
    return new Promise((resolve, reject) => new Exchange(request, agent, { resolve, reject }));
  }
}

/** The receiver closed an idle connection before it read the request. */
class StaleConnection extends NoAnswer {}

type Ends = { readonly resolve: (answer: WholeAnswer) => void; readonly reject: (error: NoAnswer) => void };

class Exchange {
  readonly #asked: HttpRequest;
  readonly #ends: Ends;
  readonly #request: ClientRequest;
  readonly #timer: NodeJS.Timeout;
  #answer: IncomingMessage | null = null;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #isSent = false;
  #isOver = false;

  constructor(asked: HttpRequest, agent: Agent | false, ends: Ends) {
    const { url, method, headers, body, deadline, signal } = asked;
    this.#asked = asked;
    this.#ends = ends;
    const isSecure = url.protocol === "https:";
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const options = { method, headers: { ...headers, ...length }, agent };
    this.#request = (isSecure ? requestHttps : requestHttp)(url, options);
    this.#timer = setTimeout(
      () => this.#fail("no answer in time", "ETIMEDOUT"),
      Math.max(1, deadline - performance.now()),
    );
    if (signal.aborted) this.#onStop();
    signal.addEventListener("abort", this.#onStop, { once: true });
    this.#request.on("socket", (socket) => {
      const onConnected = () => {
        this.#isSent = true;
      };
      if (!socket.connecting) onConnected();
      else socket.once(isSecure ? "secureConnect" : "connect", onConnected);
    });
    this.#request.on("error", (error) => this.#fail(error.message, codeOf(error)));
    this.#request.on("response", (answer) => this.#read(answer));
    this.#request.end(body);
  }

  readonly #onStop = (): void => this.#fail("it was stopped", undefined);

  #read(answer: IncomingMessage): void {
    this.#answer = answer;
    answer.on("data", (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes > this.#asked.answerBytesMax) this.#finish("oversized");
      else if (this.#asked.isEnough?.(answer.headers["content-type"] ?? "", this.#body()))
        this.#finish("whole");
    });
    answer.on("end", () => this.#finish(answer.complete ? "whole" : "cut"));
    answer.on("error", (error) => this.#fail(error.message, codeOf(error)));
    answer.on("aborted", () => this.#fail("the connection broke", "ECONNRESET"));
  }

  /** After the status has arrived, an error only cuts off the body: the status decides the outcome. */
  #fail(message: string, errno: string | undefined): void {
    if (this.#answer !== null) this.#finish("cut");
    if (this.#isOver) return;
    this.#over();
    const isStale = this.#request.reusedSocket && (errno === "ECONNRESET" || errno === "EPIPE");
    const Kind = isStale ? StaleConnection : NoAnswer;
    this.#ends.reject(new Kind(message || errno || "no connection", this.#isSent, errno));
  }

  #finish(end: HttpAnswer["end"]): void {
    const answer = this.#answer;
    if (this.#isOver || answer === null) return;
    this.#over(end === "whole" && answer.complete);
    const entries = Object.entries(answer.headers);
    const headers = Object.fromEntries(
      entries.map(([name, value = ""]) => [name, [value].flat().join(", ")]),
    );
    this.#ends.resolve({
      status: answer.statusCode ?? 0,
      statusText: answer.statusMessage ?? "",
      contentType: headers["content-type"] ?? "",
      retryAfter: headers["retry-after"],
      location: headers.location,
      body: this.#body(),
      end,
      headers,
    });
  }

  #body(): string {
    return Buffer.concat(this.#chunks).subarray(0, this.#asked.answerBytesMax).toString("utf8");
  }

  /** Closes the connection unless the response was read to its end: leftover data must not reach the next request. */
  #over(mayKeep = false): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#asked.signal.removeEventListener("abort", this.#onStop);
    if (!mayKeep) this.#request.destroy();
  }
}
