/** Turns the stream of JSON lines of a running agent into lines that a person can read: its texts and the tools it calls. */
import { reader } from "../item/failure.ts";
import { isJsonObject, type JsonObject } from "../kit/json.ts";

/** The readable form of one line; null for a line that a person need not see. A line that is no JSON stays as it is. */
export function agentLine(line: string): string | null {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    return line;
  }
  if (!isJsonObject(message)) return line;
  if (message.type !== "assistant") return null;
  const content = reader(message).object("message")?.content;
  const parts = Array.isArray(content) ? content.filter(isJsonObject).flatMap(partText) : [];
  return parts.length === 0 ? null : parts.join("\n");
}

function partText(part: JsonObject): string[] {
  const read = reader(part);
  if (part.type === "text") return [read.text("text") ?? ""];
  return part.type === "tool_use"
    ? [`[${read.text("name") ?? "tool"}] ${JSON.stringify(part.input ?? {})}`]
    : [];
}
