/** A message as Microsoft Teams takes it from a workflow's webhook: an Adaptive Card. */
import type { Json, JsonObject } from "../../kit/json.ts";
import { NEXT_STEP, type Notice, OVER_TITLE, shownLines } from "../notice.ts";
import type { Severity } from "../settings.ts";

const COLORS: Readonly<Record<Severity, string>> = {
  info: "Good",
  warning: "Warning",
  critical: "Attention",
};

/** The body of the request. */
export function teamsBody(notice: Notice): JsonObject {
  const { title, severity, wrong, over, store, at } = notice;
  const body: Json[] = [
    block(title, { size: "Large", weight: "Bolder", color: COLORS[severity] }),
    ...shownLines(wrong).map((line) => block(line, { spacing: "Small" })),
    ...(wrong.length > 0 && over.length > 0 ? [block(OVER_TITLE, { weight: "Bolder", color: "Good" })] : []),
    ...shownLines(over).map((line) => block(line, { spacing: "Small" })),
    ...(wrong.length > 0 ? [block(NEXT_STEP, { isSubtle: true })] : []),
    block(`${store} · ${new Date(at).toISOString()}`, { isSubtle: true, size: "Small" }),
  ];
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    msteams: { width: "Full" },
    body,
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return { type: "message", attachments: [attachment] };
}

function block(text: string, style: JsonObject): JsonObject {
  return { type: "TextBlock", text: plain(text), wrap: true, ...style };
}

/** A card's text is a little Markdown: what a queue is called must not become emphasis or a link. */
function plain(text: string): string {
  return text.replace(/[\\*_[\]`~]/g, "\\$&");
}
