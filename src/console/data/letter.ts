/** Formats letters and failures for display. */
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

/** The item's data as one line, which is easier to recognise than an id. */
export function dataText(data: unknown): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return (text ?? "").slice(0, DATA_CHARS_MAX);
}

/** Matches ids that Redrive generated. They mean nothing to people, so the item's data is shown first. */
const GENERATED_ID = /^[0-9a-hjkmnp-tv-z]{16}$/u;

/** The display title of an item (its name, its id or its data) and a secondary line with more detail. */
export function itemTexts(
  id: string,
  data: unknown,
  name?: unknown,
): { readonly title: string; readonly detail: string } {
  if (typeof name === "string" && name !== "") return { title: name, detail: dataText(data) };
  if (!GENERATED_ID.test(id) || dataText(data) === "") return { title: id, detail: dataText(data) };
  return { title: dataText(data), detail: id };
}

const STEP_CHARS_MAX = 60;

/**
 * Shortens the name of a step. The arguments of a command are left out, because they repeat the item's data.
 */
export function stepName(step: string): string {
  const name = step.replace(/^command: (\S+).*$/su, "$1");
  return name.length > STEP_CHARS_MAX ? `${name.slice(0, STEP_CHARS_MAX).trimEnd()}…` : name;
}

/** The step name of every function, which is not worth showing. */
export const FUNCTION_STEP = "handler";

/** The command line of a failed attempt, if its step was a command. */
export function commandOf({ step_failed: step = "" }: Partial<Failure>): string | undefined {
  return /^(?:command|shell): (.+)$/su.exec(step)?.[1];
}

/** The error type, or an empty string if it is unknown. */
export function knownType(type: unknown): string {
  const name = typeName(type);
  return name === "Unknown" ? "" : name;
}

type Where = Partial<Pick<Failure, "step_failed" | "exit_code" | "signal">> & {
  readonly error_type?: unknown;
};

/** Where and how an attempt failed, as the line below its message. */
export function failureText({ error_type, step_failed, exit_code, signal }: Where): string {
  const exit = exit_code === undefined ? signal : `exit ${exit_code}`;
  const step = step_failed === undefined || step_failed === FUNCTION_STEP ? "" : stepName(step_failed);
  return [knownType(error_type), step, exit].filter(Boolean).join(" · ");
}

const PREFIX = /^(.{1,200}? failed with (?:exit code \d+|signal \w+)): (?=\S)/u;

/** The specific part of a message, without the prefix `COMMAND failed with exit code N`. */
export function headline(message: string): string {
  return message.replace(PREFIX, "");
}
