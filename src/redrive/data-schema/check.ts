/** What the keywords of a JSON Schema share: the form of a check, and how a problem is told. */
import { WorkError } from "../../errors.ts";
import type { Json, JsonObject } from "../../kit/json.ts";
import { type Path, pathText } from "../set-path.ts";

/** Why the data at this path does not fit; undefined when it does. */
export type Check = (data: Json, at: Path) => string | undefined;

/** What a keyword gets to make its check from. */
export interface Keyword {
  readonly name: string;
  readonly value: Json;
  /** The schema that has the keyword, for those that look at their neighbours. */
  readonly schema: JsonObject;
  /** Compiles a schema inside of this one. */
  readonly compile: (schema: Json) => Check;
}

/** `name: problem`, or `the data: problem` for all of it. */
export function problemAt(at: Path, problem: string): string {
  return `${at.length === 0 ? "the data" : pathText(at)} ${problem}`;
}

/** A schema that is wrong, or beyond what is checked here. */
export function schemaError(problem: string): WorkError {
  return new WorkError("usage", `The schema cannot be used: ${problem}.`, {
    hint: "Write JSON Schema, 2020-12 or draft 7, in one document.",
  });
}
