/** Formats the JSON lines of an agent's stream for people: its texts and its tool calls. */
import { isJsonObject, type Json, type JsonObject, reader } from "../std/json.ts";
import { parseMessage } from "./message-lines.ts";

/** Returns null for messages to hide. A line that is not an agent message is returned unchanged. */
export function agentLine(line: string): string | null {
  const message = parseMessage(line);
  if (message === undefined) return line;
  const parts = partsOf(message);
  if (parts === undefined) return line;
  return parts.length === 0 ? null : parts.join("\n");
}

/** The types of agent messages. Messages of other types are not formatted. */
const HIDDEN =
  /^(?:system|user|result|stream_event|rate_limit_event|tool_progress|tool_result|tool_use_summary|auth_status|init|thread\.|turn\.|item\.|step_)/;

function partsOf(message: JsonObject): readonly string[] | undefined {
  const read = reader(message);
  const type = read.text("type") ?? "";
  switch (type) {
    case "assistant":
      return contentOf(read.object("message")?.content).flatMap(partText);
    case "item.completed":
      return itemText(read.object("item") ?? {});
    case "turn.failed":
    case "error":
      return [`[error] ${errorText(message)}`];
    case "message":
      return message.role === "assistant" ? textList(read.text("content")) : [];
    case "text":
      return textList(reader(read.object("part") ?? {}).text("text"));
    case "tool_use":
      return [toolText(message)];
  }
  if (isJsonObject(message.redrive)) return [];
  return HIDDEN.test(type) ? [] : undefined;
}

function contentOf(content: Json | undefined): readonly JsonObject[] {
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

function textList(text: string | undefined): readonly string[] {
  return text === undefined || text === "" ? [] : [text];
}

function partText(part: JsonObject): readonly string[] {
  const read = reader(part);
  if (part.type === "text") return [read.text("text") ?? ""];
  return part.type === "tool_use" ? [call(read.text("name"), part.input)] : [];
}

function itemText(item: JsonObject): readonly string[] {
  const read = reader(item);
  switch (item.type) {
    case "agent_message":
      return textList(read.text("text"));
    case "command_execution":
      return [`[command] ${read.text("command") ?? ""}`];
    case "file_change":
      return contentOf(item.changes).map((change) => `[edit] ${reader(change).text("path") ?? ""}`);
    case "mcp_tool_call":
      return [call([read.text("server"), read.text("tool")].filter(Boolean).join("."), item.arguments)];
    case "web_search":
      return [`[web_search] ${read.text("query") ?? ""}`];
    case "error":
      return [`[warning] ${read.text("message") ?? ""}`];
  }
  return [];
}

/** Gemini puts the parameters of a tool into the message, opencode into the state of the message's part. */
function toolText(message: JsonObject): string {
  const read = reader(message);
  const part = read.object("part");
  if (part === undefined) return call(read.text("tool_name"), message.parameters);
  return call(reader(part).text("tool"), reader(reader(part).object("state") ?? {}).object("input"));
}

function call(name: string | undefined, input: Json | undefined): string {
  return `[${name || "tool"}] ${JSON.stringify(input ?? {})}`;
}

function errorText(message: JsonObject): string {
  const read = reader(message);
  const error = reader(read.object("error") ?? {});
  const text = read.text("message") ?? error.text("message");
  return text ?? reader(error.object("data") ?? {}).text("message") ?? error.text("name") ?? "unknown";
}
