/** An MCP server for one agent with tools, resources and a prompt. It works with any transport. */
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { RedriveError } from "../../errors.ts";
import { compact, type JsonObject } from "../../std/json.ts";
import { RequestError } from "../problem.ts";
import { parse } from "../read-input.ts";
import { type RequestLog, referenceFor } from "../request-log.ts";
import { type Answer, writeAnswer } from "./answer.ts";
import { INSTRUCTIONS, PROMPTS, triageText } from "./prompt.ts";
import { readResource, TEMPLATES } from "./resources.ts";
import { type Agent, RouteCaller } from "./route-caller.ts";
import type { Sdk } from "./sdk.ts";
import { BRIEF, shrinkDocument } from "./shrink.ts";
import { AgentRefusal } from "./tool.ts";
import { toolsFor, toolToJson } from "./tools.ts";

export interface AgentOptions extends Agent {
  /** Whether the agent gets tools that make changes. */
  readonly allowsChanges: boolean;
  readonly log?: RequestLog | undefined;
}

export function createAgentServer({ Server, types }: Sdk, agent: AgentOptions): Server {
  const { context, allowsChanges, log } = agent;
  const tools = toolsFor(agent.principal, allowsChanges);
  const routes = new RouteCaller(agent);
  const server = new Server(
    { name: "redrive", title: "Redrive", version: context.version },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler(types.ListToolsRequestSchema, async () => ({
    tools: [...tools].map(([name, one]) => toolToJson(name, one)),
  }));
  server.setRequestHandler(types.CallToolRequestSchema, async ({ params }) => {
    const found = tools.get(params.name);
    if (found === undefined)
      throw new types.McpError(
        types.ErrorCode.InvalidParams,
        `There is no tool ${JSON.stringify(params.name)}.`,
      );
    const run = async () =>
      found.run(routes, parse(found.input, params.arguments ?? {}, "arguments") as never);
    return resultOf(run, log);
  });
  server.setRequestHandler(types.ListResourcesRequestSchema, async () => ({ resources: [] }));
  server.setRequestHandler(types.ListResourceTemplatesRequestSchema, async () => ({
    resourceTemplates: [...TEMPLATES],
  }));
  server.setRequestHandler(types.ReadResourceRequestSchema, async ({ params: { uri } }) => {
    const answer = await readResource(routes, uri).catch((error: unknown) => {
      throw new types.McpError(RESOURCE_NOT_FOUND, problemOf(error, log).code);
    });
    return { contents: [{ uri, mimeType: "text/plain", text: writeAnswer(answer).text }] };
  });
  server.setRequestHandler(types.ListPromptsRequestSchema, async () => ({ prompts: [...PROMPTS] }));
  server.setRequestHandler(types.GetPromptRequestSchema, async ({ params }) => {
    if (params.name !== "triage")
      throw new types.McpError(types.ErrorCode.InvalidParams, "The only prompt is triage.");
    const text = triageText({ queue: params.arguments?.queue, has: (name) => tools.has(name) });
    return { messages: [{ role: "user" as const, content: { type: "text" as const, text } }] };
  });
  return server;
}

const RESOURCE_NOT_FOUND = -32002;

async function resultOf(run: () => Promise<Answer>, log: RequestLog | undefined): Promise<CallToolResult> {
  try {
    const { text, structured } = writeAnswer(await run());
    return { content: [{ type: "text", text }], structuredContent: { ...structured } };
  } catch (error) {
    const { code, facts = {}, untrusted } = problemOf(error, log);
    const { document, cut } = shrinkDocument(untrusted, BRIEF);
    const { text } = writeAnswer({ facts: { error: code, ...facts }, untrusted: document, cut });
    return { isError: true, content: [{ type: "text", text }] };
  }
}

interface Problem {
  readonly code: string;
  readonly facts?: JsonObject;
  /** Error messages may contain ids and data of items. */
  readonly untrusted: JsonObject;
}

/** Describes an error to the agent. Details of a bug are logged under a reference. */
function problemOf(error: unknown, log: RequestLog | undefined): Problem {
  if (error instanceof AgentRefusal)
    return { code: "refused", facts: { message: error.message }, untrusted: {} };
  if (error instanceof RequestError || error instanceof RedriveError) {
    const { code, message, hint } = error;
    return { code, untrusted: compact({ message, hint }) };
  }
  const reference = referenceFor();
  const stack = error instanceof Error ? error.stack : String(error);
  log?.({ level: "error", event: "bug", reference, stack });
  return { code: "internal", facts: { reference }, untrusted: {} };
}
