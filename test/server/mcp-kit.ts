/** Agents for tests: the SDK's own client, over HTTP on loopback or over the stdio of the real command. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { onTestFinished } from "vitest";
import type { ServerOptions } from "../../src/server/app.ts";
import type { Role } from "../../src/server/contract/route.ts";
import { listen } from "../../src/server/listen.ts";
import { estimateTokens, TOKENS_MAX } from "../../src/server/mcp/answer.ts";
import { type Kit, serverKit } from "./kit.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** An answer whose two forms were compared. */
export interface AgentAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: documents of many forms, read by the assertions of tests
  readonly facts: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly untrusted: any;
  readonly isError: boolean;
  readonly text: string;
}

export class TestAgent {
  readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  async toolNames(): Promise<readonly string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name);
  }

  /** Calls a tool and checks what holds for every answer: its size, and that text and data have the same content. */
  async call(name: string, input: Fields = {}): Promise<AgentAnswer> {
    const result = await this.client.callTool({ name, arguments: { ...input } });
    const [first] = result.content as readonly { readonly text: string }[];
    const text = first?.text ?? "";
    const structured = result.structuredContent as { facts: unknown; untrusted: unknown } | undefined;
    const size = estimateTokens(text) + estimateTokens(JSON.stringify(structured ?? ""));
    if (size > TOKENS_MAX) throw new Error(`the answer of ${name} has ${size} tokens`);
    const read = readText(text);
    if (structured !== undefined && JSON.stringify(structured.facts) !== JSON.stringify(read.facts))
      throw new Error("the facts of text and data differ");
    if (structured !== undefined && JSON.stringify(structured.untrusted) !== JSON.stringify(read.untrusted))
      throw new Error("the untrusted parts of text and data differ");
    return { ...read, isError: result.isError === true, text };
  }

  /** Calls a tool that must succeed. */
  async ask(name: string, input: Fields = {}): Promise<AgentAnswer> {
    const answer = await this.call(name, input);
    if (answer.isError) throw new Error(`${name} failed: ${answer.text}`);
    return answer;
  }
}

/** Reads the text as an agent does: facts, then a fence with a code. Throws unless there is exactly one fence. */
export function readText(text: string): { readonly facts: unknown; readonly untrusted: unknown } {
  const lines = text.split("\n");
  const fences = lines.filter((line) => line.startsWith("==="));
  const [, code] = /^=== untrusted ([0-9a-f]{24}) ===$/.exec(fences[0] ?? "") ?? [];
  if (fences.length !== 2 || fences[1] !== `=== end of untrusted ${code} ===` || lines.length !== 7)
    throw new Error(`the fence is not whole: ${text}`);
  return { facts: JSON.parse(lines[1] ?? ""), untrusted: JSON.parse(lines[5] ?? "") };
}

export interface AgentKit extends Kit {
  readonly url: string;
  agent(role: Role, name?: string): Promise<TestAgent>;
}

/** A server that listens on loopback. */
export async function agentKit(options: Partial<ServerOptions> = {}): Promise<AgentKit> {
  const kit = await serverKit(options);
  const listening = await listen(kit.server, { host: "127.0.0.1", port: 0 });
  onTestFinished(() => listening.close());
  const url = `${listening.url}/mcp`;
  return {
    ...kit,
    url,
    agent: async (role, name) => connect(url, await kit.tokenFor(role, name)),
  };
}

export async function connect(url: string, token: string): Promise<TestAgent> {
  const client = new Client({ name: "test-agent", version: "1" });
  const headers = { authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport as unknown as Parameters<typeof client.connect>[0]);
  onTestFinished(() => client.close());
  await client.listTools(); // from then on the client checks answers against the output schemas
  return new TestAgent(client);
}
