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

/** Ids that Redrive made from the content of an item, or at random. People recognise its data instead. */
const GENERATED_ID = /^[0-9a-hjkmnp-tv-z]{16}$/u;

/** What people recognise an item by, and what else tells it apart: its name or id and its data. */
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

/** A step without the arguments of its command, which repeat the data of the item. Of a longer script, its beginning. */
export function stepName(step: string): string {
  const name = step.replace(/^command: (\S+).*$/su, "$1");
  return name.length > STEP_CHARS_MAX ? `${name.slice(0, STEP_CHARS_MAX).trimEnd()}…` : name;
}

/** What steps of functions are called, which says nothing about them. */
const FUNCTION_STEP = "handler";

/** The command line of an attempt, if the step was one. */
export function commandOf({ step_failed: step = "" }: Partial<Failure>): string | undefined {
  return /^(?:command|shell): (.+)$/su.exec(step)?.[1];
}

/** The type, unless nobody knows it, which says nothing. */
export function knownType(type: unknown): string {
  const name = typeName(type);
  return name === "Unknown" ? "" : name;
}

type Where = Partial<Pick<Failure, "step_failed" | "exit_code" | "signal">> & {
  readonly error_type?: unknown;
};

/** Where and how an attempt failed, as one line below its message. */
export function failureText({ error_type, step_failed, exit_code, signal }: Where): string {
  const exit = exit_code === undefined ? signal : `exit ${exit_code}`;
  const step = step_failed === undefined || step_failed === FUNCTION_STEP ? "" : stepName(step_failed);
  return [knownType(error_type), step, exit].filter(Boolean).join(" · ");
}

const PREFIX = /^(.{1,200}? failed with (?:exit code \d+|signal \w+)): (?=\S)/u;

/** The part of a message that tells failures apart, without the command that all messages of a queue begin with. */
export function headline(message: string): string {
  return message.replace(PREFIX, "");
}
