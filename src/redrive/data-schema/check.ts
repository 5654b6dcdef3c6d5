/** The types and messages that all JSON Schema keywords share. */
import { WorkError } from "../../errors.ts";
import type { Json, JsonObject } from "../../std/json.ts";
import { type Path, pathText } from "../set-path.ts";

/** Returns the problem with the data at this path, or undefined. */
export type Check = (data: Json, at: Path) => string | undefined;

/** The input for compiling one keyword. */
export interface Keyword {
  readonly name: string;
  readonly value: Json;
  /** The schema that contains the keyword, for keywords that depend on others. */
  readonly schema: JsonObject;
  readonly compile: (schema: Json) => Check;
}

export function problemAt(at: Path, problem: string): string {
  return `${at.length === 0 ? "the data" : pathText(at)} ${problem}`;
}

export function schemaError(problem: string): WorkError {
  return new WorkError("usage", `The schema cannot be used: ${problem}.`, {
    hint: "Write JSON Schema, 2020-12 or draft 7, in one document.",
  });
}
