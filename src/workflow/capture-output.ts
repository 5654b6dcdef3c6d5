/** What `capture` makes of a step's output: the value that later steps see. */
import type { Filled } from "../attempt/template-parts.ts";
import type { Json } from "../kit/json.ts";
import type { CaptureFormat } from "./model.ts";

/** More than this is not held in memory as a value. */
export const VALUE_BYTES_MAX = 8 * 1024 * 1024;

/** The value, or why the output is none of that format. */
export function captureValue(text: string, format: CaptureFormat): Filled<Json> {
  const trimmed = text.trim();
  switch (format) {
    case "string":
      return { ok: true, value: withoutLineEnd(text) };
    case "lines":
      return { ok: true, value: linesOf(text) };
    case "json":
      return jsonOf(trimmed);
    case "number":
      return NUMBER.test(trimmed) ? { ok: true, value: Number(trimmed) } : isNot("a number", trimmed);
    case "boolean":
      return booleanOf(trimmed);
  }
}

const NUMBER = /^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/;

/** As the shell does in `$(…)`. */
export function withoutLineEnd(text: string): string {
  return text.replace(/(\r?\n)+$/, "");
}

/** The lines of a text; an empty one has none. */
export function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}

function jsonOf(text: string): Filled<Json> {
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch (error) {
    return {
      ok: false,
      message: `is not valid JSON (${error instanceof Error ? error.message : "it cannot be read"})`,
    };
  }
}

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  "1": true,
  false: false,
  no: false,
  "0": false,
};

function booleanOf(text: string): Filled<Json> {
  const value = Object.hasOwn(BOOLEANS, text.toLowerCase()) ? BOOLEANS[text.toLowerCase()] : undefined;
  return value === undefined ? isNot("a boolean (true, false, yes, no, 1 or 0)", text) : { ok: true, value };
}

function isNot(what: string, text: string): { ok: false; message: string } {
  return {
    ok: false,
    message: text === "" ? `is empty and not ${what}` : `is not ${what}: ${text.slice(0, 80)}`,
  };
}

/** Why output of this size cannot be a value. */
export function tooLarge(bytes: number): string {
  const size = `${Math.ceil(bytes / MIB)} MiB`;
  return `is ${size}; a value has at most ${VALUE_BYTES_MAX / MIB} MiB`;
}
const MIB = 1024 * 1024;
