/** A real MCP server of the official SDK over streamable HTTP, with a tool that takes receipts and a ledger of what came. */
import { randomUUID } from "node:crypto";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer as SdkServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, type CallToolResult } from "@modelcontextprotocol/sdk/types.js";

export interface Call {
  readonly name: string;
  readonly arguments: unknown;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
  readonly session: string | undefined;
}

type Answer = CallToolResult | ((call: Call) => CallToolResult | Promise<CallToolResult>);

const OK: CallToolResult = { content: [{ type: "text", text: "ok" }] };

export class McpServer {
  readonly #server: Server;
  readonly #sessions = new Map<string, StreamableHTTPServerTransport>();
  readonly #isStreaming: boolean;
  readonly calls: Call[] = [];
  /** Sessions that were begun, and that were ended by who began them. */
  begun = 0;
  ended = 0;
  #script: Answer[] = [];
  otherwise: Answer = OK;
  /** Answers a request before the SDK sees it; true when it did. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;

  private constructor(isStreaming: boolean) {
    this.#isStreaming = isStreaming;
    this.#server = createServer((request, response) => {
      if (this.intercept(request, response)) return;
      void this.#handle(request, response);
    });
  }

  /** Answers as a stream of events, or as one JSON message. */
  static async open({ isStreaming = true } = {}): Promise<McpServer> {
    const server = new McpServer(isStreaming);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  say(...answers: readonly Answer[]): void {
    this.#script = [...answers];
  }

  get keys(): readonly unknown[] {
    return this.calls.map(({ meta }) => meta.idempotency_key);
  }

  /** As after a restart: no session is known any more. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers["mcp-session-id"];
    if (request.method === "DELETE") this.ended += 1;
    const known = typeof id === "string" ? this.#sessions.get(id) : undefined;
    if (id !== undefined && known === undefined) {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } }),
      );
      return;
    }
    await (known ?? (await this.#begin())).handleRequest(request, response);
  }

  async #begin(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: !this.#isStreaming,
      onsessioninitialized: (id) => {
        this.begun += 1;
        this.#sessions.set(id, transport);
      },
    });
    const server = new SdkServer({ name: "asyncgate", version: "1" }, { capabilities: { tools: {} } });
    server.server.setRequestHandler(CallToolRequestSchema, async ({ params }, { requestInfo, sessionId }) => {
      const headers = (requestInfo?.headers ?? {}) as IncomingHttpHeaders;
      const call = {
        name: params.name,
        arguments: params.arguments,
        meta: params._meta ?? {},
        headers,
        session: sessionId,
      };
      this.calls.push(call);
      const answer = this.#script.shift() ?? this.otherwise;
      return typeof answer === "function" ? answer(call) : answer;
    });
    await server.connect(transport as Parameters<typeof server.connect>[0]);
    return transport;
  }
}
