/** A service that takes receipts over HTTP and writes each request into its ledger; the test says what it answers. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Entry {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An answer: a status, a status with a body and headers, or whatever a function does. */
export type Answer =
  | number
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | ((entry: Entry, response: ServerResponse) => void);

export class ReceiptServer {
  readonly #server: Server;
  readonly ledger: Entry[] = [];
  #script: Answer[] = [];
  /** When the script is over. */
  otherwise: Answer = 200;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { method = "", url: path = "", headers } = request;
        const key = String(headers["idempotency-key"] ?? "");
        const entry = { method, path, key, headers, body: Buffer.concat(chunks).toString() };
        this.ledger.push(entry);
        answerWith(
          method === "HEAD" ? this.otherwise : (this.#script.shift() ?? this.otherwise),
          entry,
          response,
        );
      });
    });
  }

  static async open(): Promise<ReceiptServer> {
    const server = new ReceiptServer();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/complete`;
  }

  /** What is answered next, one after the other. */
  say(...answers: readonly Answer[]): void {
    this.#script = [...answers];
  }

  /** The keys of what came, in order. */
  get keys(): readonly string[] {
    return this.ledger.map(({ key }) => key);
  }

  /** Whoever keeps a connection open loses it. */
  cutIdle(): void {
    this.#server.closeAllConnections();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function answerWith(answer: Answer, entry: Entry, response: ServerResponse): void {
  if (typeof answer === "function") {
    answer(entry, response);
    return;
  }
  const { status, body, headers = {} } = typeof answer === "number" ? { status: answer } : answer;
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const type = body === undefined || typeof body === "string" ? {} : { "content-type": "application/json" };
  response.writeHead(status, { ...type, ...headers }).end(text);
}
