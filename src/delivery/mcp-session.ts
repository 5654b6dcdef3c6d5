/** A session with an MCP server, held by the official SDK, which is loaded only when a target needs it. */
import type { JsonObject } from "../kit/json.ts";
import type { DeliverySpec } from "./spec.ts";

/** What is asked of a session. */
export interface McpSession {
  /** Those it was opened with. */
  readonly settings: DeliverySpec;
  callTool(call: {
    readonly name: string;
    readonly arguments: JsonObject;
    readonly _meta: Readonly<Record<string, unknown>>;
  }): Promise<unknown>;
  ping(): Promise<unknown>;
  /** Tells the other side that the session is over. */
  close(): Promise<void>;
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** The connection has its own time limit; that of the SDK only keeps a call from waiting for ever. */
const SPARE_MS = 1000;

export async function openSession(settings: DeliverySpec, fetch: Fetch): Promise<McpSession> {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import(
    "@modelcontextprotocol/sdk/client/streamableHttp.js"
  );
  const client = new Client({ name: "redrive", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(settings.url ?? ""), { fetch });
  const timeout = settings.timeoutMs + SPARE_MS;
  // The SDK's class has optional members without `undefined` in their types, which its own interface does not allow here.
  await client.connect(transport as Parameters<typeof client.connect>[0], { timeout });
  return {
    settings,
    callTool: (call) => client.callTool(call, undefined, { timeout }),
    ping: () => client.ping({ timeout }),
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}
