/** Letters and logs as resources. They can only be read by URI, because a list would contain untrusted names. */
import { RequestError } from "../problem.ts";
import type { Answer } from "./answer.ts";
import { readLog } from "./log-tool.ts";
import { readingTools } from "./reading-tools.ts";
import type { RouteCaller } from "./route-caller.ts";

export const TEMPLATES = [
  {
    name: "letter",
    title: "Letter",
    uriTemplate: "redrive://letters/{queue}/{item_id}",
    description: "One letter with its failures. Escape the names in the URI.",
    mimeType: "text/plain",
  },
  {
    name: "log",
    title: "Log",
    uriTemplate: "redrive://logs/{queue}/{item_id}/{attempt}",
    description: "The end of the output of an attempt.",
    mimeType: "text/plain",
  },
] as const;

export async function readResource(routes: RouteCaller, uri: string): Promise<Answer> {
  const [, kind, rest = ""] = /^redrive:\/\/(letters|logs)\/(.+)$/.exec(uri) ?? [];
  const [queue, item_id, attempt, ...others] = rest.split("/").map(decoded);
  const isWhole = queue !== undefined && item_id !== undefined && others.length === 0;
  if (isWhole && kind === "letters" && attempt === undefined)
    return readingTools.inspect_letter.run(routes, { queue, item_id });
  if (isWhole && kind === "logs" && attempt !== undefined && /^\d{1,9}$/.test(attempt))
    return readLog.run(routes, { queue, item_id, attempt: Number(attempt) });
  throw new RequestError("request_invalid", "There is no such resource.");
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new RequestError("request_malformed", "The URI of the resource cannot be decoded.");
  }
}
