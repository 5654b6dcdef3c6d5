/**
 * Regular expressions in the syntax of RE2, matched in linear time: the time of a match is at most the size of the
 * expression times the length of the text. Look-around and back references cannot be matched so and are refused.
 * For rules that are asked about every failure see bounded-pattern.ts, which has tighter limits.
 */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";

/** Longer expressions are refused. */
export const LINEAR_PATTERN_CHARS_MAX = 10_000;
/** Instructions of the expression times characters of the text: about two seconds in the worst case. */
export const LINEAR_PATTERN_STEPS_MAX = 200_000_000;

/** Why an expression, or an expression with this text, cannot be matched. */
export class PatternError extends Error {
  override readonly name = "PatternError";
}

/** Returns whether the text contains the pattern. Throws a `PatternError` when the text is too long for it. */
export type LinearPattern = (text: string) => boolean;

/** Compiles the expression, or throws a `PatternError`. */
export function compileLinear(source: string): LinearPattern {
  if (source.length > LINEAR_PATTERN_CHARS_MAX) {
    throw new PatternError(`it is longer than ${LINEAR_PATTERN_CHARS_MAX} characters`);
  }
  const { RE2JS, RE2JSException } = loadEngine();
  try {
    return bounded(RE2JS.compile(RE2JS.translateRegExp(source)));
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new PatternError(error.message.replace(/^error parsing regexp: /, ""));
  }
}

/** As `compileLinear`, and remembers the last few expressions: a filter is asked about thousands of items. */
export function rememberedLinear(source: string): LinearPattern {
  const known = REMEMBERED.get(source);
  if (known) return known;
  const compiled = compileLinear(source);
  if (REMEMBERED.size >= REMEMBERED_MAX) REMEMBERED.clear();
  REMEMBERED.set(source, compiled);
  return compiled;
}

const REMEMBERED = new Map<string, LinearPattern>();
const REMEMBERED_MAX = 100;

function bounded(pattern: RE2JS): LinearPattern {
  const textMax = Math.floor(LINEAR_PATTERN_STEPS_MAX / Math.max(1, pattern.programSize()));
  return (text) => {
    if (text.length > textMax) {
      throw new PatternError(`a text of ${text.length} characters is too long for it (at most ${textMax})`);
    }
    return pattern.test(text);
  };
}

type Engine = typeof import("re2js");

let engine: Engine | undefined;

/** Loaded by the first expression: most commands have none. */
function loadEngine(): Engine {
  engine ??= createRequire(import.meta.url)("re2js") as Engine;
  return engine;
}
