/** `/mcp`: handles one request of an agent over streamable HTTP. It is stateless, so that any server can answer. */
import { RequestError } from "../problem.ts";
import { type AgentOptions, createAgentServer } from "./agent-server.ts";
import { loadServerSdk } from "./sdk.ts";

/** Answers a POST request whose body was read and whose token was checked. */
export async function answerAgent(request: Request, body: unknown, agent: AgentOptions): Promise<Response> {
  if (Array.isArray(body)) throw new RequestError("request_invalid", "Send one message with each request.");
  const sdk = await loadServerSdk();
  const server = createAgentServer(sdk, agent);
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  // Cast because the SDK's class does not implement its own interface under `exactOptionalPropertyTypes`.
  await server.connect(transport as unknown as Parameters<typeof server.connect>[0]);
  try {
    return await transport.handleRequest(request, { parsedBody: body });
  } finally {
    await server.close();
  }
}
