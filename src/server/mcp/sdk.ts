/** Loads the server part of the MCP SDK, an optional package, when an agent connects. */
import { loadOptional } from "../../std/optional-package.ts";

export type Sdk = Awaited<ReturnType<typeof importSdk>>;

/** Throws a `usage` error when the package is not installed. */
export function loadServerSdk(load = importSdk): Promise<Sdk> {
  return loadOptional("@modelcontextprotocol/sdk", "MCP needs", load);
}

async function importSdk() {
  const { Server } = await import("@modelcontextprotocol/sdk/server/index.js");
  const { StdioServerTransport } = await import("@modelcontextprotocol/sdk/server/stdio.js");
  const { WebStandardStreamableHTTPServerTransport } = await import(
    "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
  );
  const types = await import("@modelcontextprotocol/sdk/types.js");
  return { Server, StdioServerTransport, WebStandardStreamableHTTPServerTransport, types };
}
