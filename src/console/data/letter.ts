/** Facts of letters and failures as the pages show them. */
import type { ResponseOf } from "../../server/contract.ts";

export type Letter = ResponseOf<"GET /letters">["items"][number];
export type LetterDetails = ResponseOf<"GET /letters/{queue}/{item_id}">;
export type Failure = Letter["failure_history"][number];
export type Group = ResponseOf<"GET /groups">["groups"][number];

export function typeName(type: unknown): string {
  if (typeof type === "string") return type;
  return typeof type === "object" && type !== null ? (Object.keys(type)[0] ?? "Unknown") : "Unknown";
}

export function lastFailure({
  failure_history: history,
}: Pick<Letter, "failure_history">): Failure | undefined {
  return history.at(-1);
}

const DATA_CHARS_MAX = 200;

/** The item's own data as one line, which people recognise sooner than an id. */
export function dataText(data: unknown): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return (text ?? "").slice(0, DATA_CHARS_MAX);
}

const PREFIX = /^(.{1,200}? failed with (?:exit code \d+|signal \w+)): (?=\S)/u;

/** The part of a message that tells failures apart, without the command that all messages of a queue begin with. */
export function headline(message: string): string {
  return message.replace(PREFIX, "");
}
