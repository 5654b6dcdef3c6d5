/**
 * Regular expressions written by users, in the syntax of RE2 and matched in linear time: a match takes at most the size of
 * the expression times the length of the text. Lookaround and backreferences do not allow that and are refused.
 */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { RedriveError } from "../errors.ts";

export const LINEAR_PATTERN_CHARS_MAX = 10_000;
/** The maximum of instructions times characters of the text: about two seconds in the worst case. */
export const LINEAR_PATTERN_STEPS_MAX = 200_000_000;

/** Thrown if an expression is invalid, or if the text is too long for it. */
export class PatternError extends Error {
  override readonly name = "PatternError";
}

/** Returns whether the text contains the pattern. Throws a `PatternError` when the text is too long for it. */
export type LinearPattern = (text: string) => boolean;

export function compileLinear(source: string): LinearPattern {
  const pattern = compile(source, LINEAR_PATTERN_CHARS_MAX);
  const textMax = Math.floor(LINEAR_PATTERN_STEPS_MAX / Math.max(1, pattern.programSize()));
  return (text) => {
    if (text.length > textMax) {
      throw new PatternError(`the text of ${text.length} characters is too long for it (at most ${textMax})`);
    }
    return pattern.test(text);
  };
}

/** Like `compileLinear`, with a cache of recent expressions, because a filter is applied to thousands of items. */
export function rememberedLinear(source: string): LinearPattern {
  const known = REMEMBERED.get(source);
  if (known) return known;
  const compiled = compileLinear(source);
  if (REMEMBERED.size >= REMEMBERED_MAX) REMEMBERED.clear();
  REMEMBERED.set(source, compiled);
  return compiled;
}

/** Matches the whole text. `*` matches any text, including `/`, and `?` one character. */
export function globMatcher(glob: string): LinearPattern {
  const source = glob.replace(/\*+|\?|[^*?]+/g, (part) => {
    if (part.startsWith("*")) return ".*";
    return part === "?" ? "." : part.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  });
  return rememberedLinear(`(?s)^${source}$`);
}

const REMEMBERED = new Map<string, LinearPattern>();
const REMEMBERED_MAX = 100;

export const PATTERN_CHARS_MAX = 200;
const INSTRUCTIONS_MAX = 2000;
/** The maximum length of a text that rules are matched against; the rest is ignored. */
export const PATTERN_TEXT_CHARS_MAX = 4096;

/** Compiles the expression of a rule. Its limits are tight, because rules are applied to every failure. */
export function compilePattern(source: string): (text: string) => boolean {
  try {
    const pattern = compile(source, PATTERN_CHARS_MAX);
    if (pattern.programSize() > INSTRUCTIONS_MAX) throw new PatternError("its repetitions make it too large");
    return (text) => pattern.test(text.slice(0, PATTERN_TEXT_CHARS_MAX));
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new RedriveError("usage", `The pattern cannot be used: ${error.message}.`);
  }
}

function compile(source: string, charsMax: number): RE2JS {
  if (source.length > charsMax) throw new PatternError(`it is longer than ${charsMax} characters`);
  const { RE2JS, RE2JSException } = loadEngine();
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new PatternError(error.message.replace(/^error parsing regexp: /, ""));
  }
}

type Engine = typeof import("re2js");

let engine: Engine | undefined;

/** Loaded on first use, because most commands have no expression. */
function loadEngine(): Engine {
  engine ??= createRequire(import.meta.url)("re2js") as Engine;
  return engine;
}
