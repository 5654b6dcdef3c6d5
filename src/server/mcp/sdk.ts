/** Loads the server part of the MCP SDK, an optional package, when an agent connects. */
import { RedriveError } from "../../errors.ts";
import { codeOf } from "../../std/thrown.ts";

export type Sdk = Awaited<ReturnType<typeof importSdk>>;

/** Throws a `usage` error when the package is not installed. */
export async function loadServerSdk(load = importSdk): Promise<Sdk> {
  try {
    return await load();
  } catch (error) {
    if (!["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"].includes(codeOf(error) ?? "")) throw error;
    const message = "MCP needs the package @modelcontextprotocol/sdk, which is not installed.";
    throw new RedriveError("usage", message, {
      hint: "Install it alongside redrive: `npm install @modelcontextprotocol/sdk` (with -g if redrive is installed globally).",
      cause: error,
    });
  }
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
