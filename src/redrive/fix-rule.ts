/** An automatic fix, as the settings have it: which letters it is for, what it changes in their data, and how often. */
import type { JsonObject } from "../kit/json.ts";
import type { Selection } from "./select.ts";

/** A rule: the letters that match are changed and sent back to work. */
export interface FixRule {
  /** Kept with every change that it makes. */
  readonly name: string;
  /** Which letters; whatever is given must hold. */
  readonly match: Selection;
  readonly change: FixChange;
  /** How often it may be used on the same letter. */
  readonly usesMax: number;
  /** A running job uses it by itself when its queue is drained. */
  readonly auto: boolean;
}

/** What becomes of the data. */
export type FixChange =
  /** Paths and the CEL of their new values. */
  | { readonly kind: "set"; readonly set: Readonly<Record<string, string>> }
  /** A JSON merge patch (RFC 7396). */
  | { readonly kind: "patch"; readonly patch: JsonObject }
  /** A program that gets `{item, letter}` on stdin and answers with the new data on stdout. */
  | {
      readonly kind: "command";
      readonly command: readonly [program: string, ...args: string[]];
      readonly cwd: string;
      readonly timeoutMs: number;
    };
