/**
 * Receipts as HTTP POSTs of JSON. One call of `deliver` is one try: redirects that keep the method are followed within the
 * same origin, so a token never goes to another host, and nothing else is ever fetched, whatever a receipt says.
 */
import { formatDuration } from "../kit/duration.ts";
import type { Json } from "../kit/json.ts";
import { HttpExchange, type HttpRequest, NoAnswer, type WholeAnswer } from "./http-exchange.ts";
import {
  type DeliveryOutcome,
  outcomeOfHttp,
  outcomeOfLostAnswer,
  outcomeOfNoConnection,
} from "./outcome.ts";
import type { DeliveryCall, Protocol, Reachability } from "./protocol.ts";
import type { DeliverySpec } from "./spec.ts";
import { type Environment, isStillToken, readToken, type Token } from "./token.ts";

/** How often a redirect is followed. */
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
      const request = { method: "POST", headers, body: JSON.stringify(receipt), signal };
      const answer = maskedAnswer(await askFollowing(this.#exchange, request, settings), token);
      const outcome = outcomeOfHttp(answer, { key, now: Date.now() });
      if (outcome.status === "auth") await requireSameToken(token, settings, this.#env);
      return outcome;
    } catch (error) {
      if (error instanceof NoAnswer) return outcomeOfNoAnswer(error, { settings, mask: token?.mask });
      throw error;
    }
  }

  /** Any answer means that somebody is there, unless it is that of one who says that nobody is. */
  async probe(settings: DeliverySpec, signal: AbortSignal): Promise<Reachability> {
    const token = await readToken(settings.token, this.#env);
    try {
      const request = { method: "HEAD", headers: headersOf(settings, token), signal };
      const { status } = await askFollowing(this.#exchange, request, settings);
      const isReachable = status !== 502 && status !== 503 && status !== 504;
      return { isReachable, detail: `HTTP ${status}` };
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      return {
        isReachable: false,
        detail: outcomeOfNoAnswer(error, { settings, mask: token?.mask }).message,
      };
    }
  }

  async close(): Promise<void> {
    this.#exchange.close();
  }
}

/** What is asked, without where and how long. */
export type Request = Pick<HttpRequest, "method" | "headers" | "body" | "signal" | "isEnough">;

/** Asks, and follows the redirects that may be followed. */
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

/** A token that was changed meanwhile is no reason to pause the target: the next try has the new one. */
export async function requireSameToken(
  used: Token | undefined,
  settings: DeliverySpec,
  env: Environment,
): Promise<void> {
  if (await isStillToken(used, settings.token, env)) return;
  throw new Error(
    "The token was changed while the receipt was on its way; it is sent again with the new one.",
  );
}

/** The headers of every request: those of the settings cannot hide the token or the key. */
export function headersOf(settings: DeliverySpec, token: Token | undefined): Record<string, string> {
  const given = Object.fromEntries(
    Object.entries(settings.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return {
    accept: "application/json",
    "user-agent": "redrive",
    ...given,
    ...(token && { authorization: `Bearer ${token.value}` }),
  };
}

/** A header can have few characters: a key with others goes as it would in a URL. */
export function idOf({ idHeader }: DeliverySpec, key: string): Record<string, string> {
  return {
    [idHeader.toLowerCase()]: /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(key) ? key : encodeURIComponent(key),
  };
}

/** Where a redirect leads that may be followed: with the method kept, and to the same scheme, host and port. */
function redirectOf({ status, location }: WholeAnswer, from: URL): URL | undefined {
  if ((status !== 307 && status !== 308) || location === undefined || !URL.canParse(location, from.href))
    return undefined;
  const to = new URL(location, from);
  return to.origin === from.origin && to.username === "" && to.password === "" ? to : undefined;
}

/** Whatever the other side sends back of the token is masked before anybody reads it. */
export function maskedAnswer(answer: WholeAnswer, token: Token | undefined): WholeAnswer {
  if (token === undefined) return answer;
  const { mask } = token;
  const location = answer.location === undefined ? undefined : mask(answer.location);
  const body = mask(answer.body, answer.end !== "whole");
  return { ...answer, statusText: mask(answer.statusText), location, body };
}

/** What it means that nothing came back. */
export function outcomeOfNoAnswer(
  { message, isSent, errno }: NoAnswer,
  {
    settings,
    mask = (text) => text,
  }: { readonly settings: DeliverySpec; readonly mask: Token["mask"] | undefined },
) {
  const { host } = new URL(settings.url ?? "");
  const why =
    errno === "ETIMEDOUT" ? `no answer within ${formatDuration(settings.timeoutMs)}` : mask(message);
  return isSent
    ? outcomeOfLostAnswer(`${host} did not answer the request: ${why}`, errno)
    : outcomeOfNoConnection(`${host} cannot be reached: ${why}`, errno);
}
