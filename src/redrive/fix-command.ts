/** Runs a program that reads `{item, letter}` as JSON and prints the new data. No shell is involved. */
import { type EndedProgram, lastLine, runProgram } from "../attempt/run-program.ts";
import { type Letter, letterToJson } from "../item/letter.ts";
import { type Json, parseJson, stringifyJson } from "../std/json.ts";
import type { FixChange } from "./fix-rule.ts";

export type FixAnswer =
  | { readonly ok: true; readonly data: Json }
  | { readonly ok: false; readonly reason: string };

export interface AskOptions {
  /** Runs the program with `REDRIVE_DRY_RUN=1`. */
  readonly isPreview?: boolean;
  readonly signal?: AbortSignal;
}

type CommandChange = Extract<FixChange, { kind: "command" }>;

/** Resolves when the program and all processes it started have ended. Never rejects. */
export async function askCommand(
  change: CommandChange,
  letter: Letter,
  { isPreview = false, signal }: AskOptions = {},
): Promise<FixAnswer> {
  const [program] = change.command;
  const env: Record<string, string> = isPreview ? { REDRIVE_DRY_RUN: "1" } : {};
  const ended = await runProgram({ ...change, env, signal, input: inputFor(letter) });
  if (ended.why !== undefined) return refuse(`${program} ${ended.why}`);
  if (ended.code !== 0) return refuse(`${program} ended with ${endText(ended)}${lastLine(ended)}`);
  try {
    return { ok: true, data: parseJson(ended.stdout) };
  } catch {
    return refuse(`${program} did not print JSON: ${shorten(ended.stdout.trim()) || "(no output)"}`);
  }
}

function refuse(reason: string): FixAnswer {
  return { ok: false, reason };
}

function inputFor(letter: Letter): string {
  return `${stringifyJson({ item: letter.itemData, letter: letterToJson(letter) })}\n`;
}

function endText({ code, signal }: EndedProgram): string {
  return code === null ? `the signal ${signal}` : `exit code ${code}`;
}

const TEXT_LENGTH_MAX = 200;

function shorten(text: string): string {
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text;
}
