/** A message as Slack takes it from an incoming webhook: a text for notifications, and blocks. */
import type { Json, JsonObject } from "../../kit/json.ts";
import { NEXT_STEP, type Notice, OVER_TITLE, shownLines } from "../notice.ts";
import type { Severity } from "../settings.ts";

const SIGNS: Readonly<Record<Severity, string>> = {
  info: ":white_check_mark:",
  warning: ":warning:",
  critical: ":rotating_light:",
};

/** The body of the request. */
export function slackBody(notice: Notice): JsonObject {
  const { title, severity, wrong, over, store } = notice;
  const [first = ""] = shownLines([...wrong, ...over]);
  const blocks: Json[] = [
    { type: "header", text: { type: "plain_text", text: title } },
    ...sections(shownLines(wrong), SIGNS[severity]),
    ...(wrong.length > 0 && over.length > 0 ? [section(`*${OVER_TITLE}*`)] : []),
    ...sections(shownLines(over), SIGNS.info),
    {
      type: "context",
      elements: [{ type: "mrkdwn", text: escaped(wrong.length > 0 ? `${NEXT_STEP}\n${store}` : store) }],
    },
  ];
  return { text: escaped(`${title}: ${first}`), blocks };
}

/** A section has room for 3,000 characters. */
const SECTION_CHARS_MAX = 2900;

function sections(lines: readonly string[], sign: string): readonly JsonObject[] {
  const texts: string[] = [];
  for (const line of lines.map((one) => `${sign} ${escaped(one)}`)) {
    const last = texts.at(-1);
    if (last !== undefined && last.length + line.length < SECTION_CHARS_MAX)
      texts[texts.length - 1] = `${last}\n${line}`;
    else texts.push(line.slice(0, SECTION_CHARS_MAX));
  }
  return texts.map(section);
}

function section(text: string): JsonObject {
  return { type: "section", text: { type: "mrkdwn", text } };
}

/** Slack reads these three as its own; nothing that a queue is called becomes a link or calls everybody. */
function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
