/**
 * One HTTP request over kept connections, and its answer as far as it came. It knows whether the request can have reached the
 * other side, which is what decides between waiting and asking again. It follows nothing and judges nothing.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps, Agent as SecureAgent } from "node:https";
import type { HttpAnswer } from "./outcome.ts";

export interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** When it has to be over, by `performance.now()`. */
  readonly deadline: number;
  readonly answerBytesMax: number;
  readonly signal: AbortSignal;
  /** Whether what has come is all that is wanted, though more may come. */
  readonly isEnough?: (contentType: string, body: string) => boolean;
}

/** An answer with all its headers, as `fetch` has them. */
export interface WholeAnswer extends HttpAnswer {
  readonly headers: Readonly<Record<string, string>>;
}

/** There is no answer. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  /** False: the other side was not reached, and can have done nothing. */
  readonly isSent: boolean;
  readonly errno: string | undefined;

  constructor(
    message: string,
    { isSent, errno }: { readonly isSent: boolean; readonly errno?: string | undefined },
  ) {
    super(message);
    this.isSent = isSent;
    this.errno = errno;
  }
}

/** The connections to the other side. Those that are idle are used again, and let go of at the end. */
export class HttpExchange {
  readonly #plain = new Agent({ keepAlive: true });
  readonly #secure = new SecureAgent({ keepAlive: true });

  /**
   * Rejects with `NoAnswer`. A kept connection that the other side closed just when it was used again is no sign of trouble:
   * then the request is made once more on a new one.
   */
  async ask(request: HttpRequest): Promise<WholeAnswer> {
    try {
      return await this.#ask(request, this.#agentOf(request.url));
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      return this.#ask(request, false);
    }
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  #agentOf(url: URL): Agent {
    return url.protocol === "https:" ? this.#secure : this.#plain;
  }

  #ask(request: HttpRequest, agent: Agent | false): Promise<WholeAnswer> {
    return new Promise((resolve, reject) => new Exchange(request, agent, { resolve, reject }));
  }
}

/** The other side had closed the kept connection before it saw the request. */
class StaleConnection extends NoAnswer {}

interface Ends {
  readonly resolve: (answer: WholeAnswer) => void;
  readonly reject: (error: NoAnswer) => void;
}

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
    this.#request = (isSecure ? requestHttps : requestHttp)(url, {
      method,
      headers: { ...headers, ...length },
      agent,
    });
    this.#timer = setTimeout(
      () => this.#fail("no answer in time", "ETIMEDOUT"),
      Math.max(1, deadline - performance.now()),
    );
    if (signal.aborted) this.#onStop();
    signal.addEventListener("abort", this.#onStop, { once: true });
    this.#request.on("socket", (socket) => {
      if (!socket.connecting) this.#isSent = true;
      else
        socket.once(isSecure ? "secureConnect" : "connect", () => {
          this.#isSent = true;
        });
    });
    this.#request.on("error", (error) => this.#fail(error.message, errnoOf(error)));
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
    answer.on("error", (error) => this.#fail(error.message, errnoOf(error)));
    answer.on("aborted", () => this.#fail("the connection broke", "ECONNRESET"));
  }

  /** Once the status has come, it is the answer, however little came after it. */
  #fail(message: string, errno: string | undefined): void {
    if (this.#isOver) return;
    if (this.#answer !== null) {
      this.#finish("cut");
      return;
    }
    this.#over();
    const isStale = this.#request.reusedSocket && (errno === "ECONNRESET" || errno === "EPIPE");
    const Kind = isStale ? StaleConnection : NoAnswer;
    this.#ends.reject(new Kind(message || errno || "no connection", { isSent: this.#isSent, errno }));
  }

  #finish(end: HttpAnswer["end"]): void {
    const answer = this.#answer;
    if (this.#isOver || answer === null) return;
    this.#over(end === "whole" && answer.complete);
    const headers = Object.fromEntries(
      Object.entries(answer.headers).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join(", ") : (value ?? ""),
      ]),
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

  /** A connection on which more may come is not used again. */
  #over(mayKeep = false): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#asked.signal.removeEventListener("abort", this.#onStop);
    if (!mayKeep) this.#request.destroy();
  }
}

function errnoOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}
