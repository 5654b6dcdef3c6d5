/**
 * Standard Schema (https://standardschema.dev), version 1: the interface that Zod, Valibot, ArkType and others implement.
 * Validates data with such a schema, and reads its JSON Schema where it offers one.
 */
import { RedriveError } from "../errors.ts";
import { isJsonObject, type Json } from "../std/json.ts";
import { issuePath, issuesText, type SchemaIssue } from "../std/schema-issues.ts";

/** A schema of any library that implements Standard Schema version 1. */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** The data that a schema accepts, before its transforms and defaults. */
export type InputOf<S extends StandardSchemaV1> = NonNullable<S["~standard"]["types"]>["input"];
/** The data that a schema returns, after its transforms and defaults. */
export type OutputOf<S extends StandardSchemaV1> = NonNullable<S["~standard"]["types"]>["output"];

export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard = (value as { readonly "~standard"?: unknown })["~standard"];
  return (
    typeof standard === "object" &&
    standard !== null &&
    (standard as { readonly version?: unknown }).version === 1 &&
    typeof (standard as { readonly validate?: unknown }).validate === "function"
  );
}

/** The output for valid data, or the problems as one line and the path of the first problem. */
export type Validated<Output> =
  | { readonly ok: true; readonly value: Output }
  | { readonly ok: false; readonly problem: string; readonly field: string };

export async function validate<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  data: unknown,
): Promise<Validated<Output>> {
  const result = await schema["~standard"].validate(data);
  if (!result.issues) return { ok: true, value: result.value };
  const [first] = result.issues;
  return {
    ok: false,
    problem: issuesText(result.issues),
    field: first === undefined ? "" : issuePath(first),
  };
}

interface StandardJsonSchema {
  readonly input?: (options: { readonly target: string }) => unknown;
}

/** The JSON Schema of the input, or null if the schema has none or cannot be expressed as one. */
export function jsonSchemaOf(schema: StandardSchemaV1): Json | null {
  const { jsonSchema } = schema["~standard"] as { readonly jsonSchema?: StandardJsonSchema };
  if (typeof jsonSchema?.input !== "function") return null;
  try {
    const json: unknown = jsonSchema.input({ target: "draft-2020-12" });
    return isJsonObject(json) ? (JSON.parse(JSON.stringify(json)) as Json) : null;
  } catch {
    return null; // for example a transform or a Date
  }
}

/** The error for data that does not match its schema when it is added. */
export function schemaMismatch(queue: string, { problem, field }: { problem: string; field: string }) {
  return new RedriveError("input_invalid", `The data does not match the schema of ${queue}: ${problem}.`, {
    hint: "Correct the data, or change the schema of the queue.",
    field: field === "" ? "data" : `data.${field}`,
  });
}
