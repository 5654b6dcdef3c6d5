/** The answer to a request inside what an MCP server sends: one JSON message, or a stream of events that has it in it. Pure. */
import { isJsonObject, type JsonObject } from "../kit/json.ts";
import { jsonOf } from "./said.ts";

/** The JSON-RPC message that has a result or an error; undefined when none has come. */
export function rpcAnswerOf(contentType: string, body: string): JsonObject | undefined {
  const texts = contentType.startsWith("text/event-stream") ? eventsOf(body) : [body];
  return texts
    .flatMap((text) => messagesOf(jsonOf(text)))
    .find((message) => "result" in message || "error" in message);
}

/** Whether it has come; of a stream, whatever else may come after it. Anything else is read to its end. */
export function hasRpcAnswer(contentType: string, body: string): boolean {
  return contentType.startsWith("text/event-stream") && rpcAnswerOf(contentType, body) !== undefined;
}

/** The data of each event that has come whole. */
function eventsOf(stream: string): readonly string[] {
  const events = stream.replaceAll(/\r\n?/g, "\n").split("\n\n").slice(0, -1);
  return events.map((event) =>
    event
      .split("\n")
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice("data:".length).replace(/^ /, ""))
      .join("\n"),
  );
}

function messagesOf(json: unknown): readonly JsonObject[] {
  return (Array.isArray(json) ? json : [json]).filter(isJsonObject);
}
