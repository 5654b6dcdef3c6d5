/** The JSON Schema for editors: the published file is the one that the validator's source makes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { schemaText, workflowJsonSchema } from "../../src/workflow/yaml-form.ts";

const ROOT = join(import.meta.dirname, "../..");

test("schema/workflow.schema.json is up to date (node scripts/write-schema.mjs)", () => {
  expect(readFileSync(join(ROOT, "schema/workflow.schema.json"), "utf8")).toBe(schemaText());
});

test("it has every key, refuses others, and requires one action per step", () => {
  const schema = workflowJsonSchema() as {
    properties: Record<string, unknown>;
    additionalProperties: boolean;
    required: string[];
    $defs: Record<string, { properties: object; additionalProperties: boolean; oneOf?: unknown[] }>;
  };
  expect(Object.keys(schema.properties)).toEqual(
    "name description mode env profiles secrets env_files setup steps isolation iterations map verify reduce merge error_policy budget retry".split(
      " ",
    ),
  );
  expect(schema).toMatchObject({
    additionalProperties: false,
    oneOf: [{ required: ["map"] }, { required: ["steps"] }],
  });
  expect(Object.keys(schema.$defs.map?.properties ?? {})).toEqual(expect.arrayContaining(["filter", "keep"]));
  expect(schema.$defs.step).toMatchObject({ additionalProperties: false, oneOf: expect.any(Array) });
  expect(schema.$defs.step?.oneOf).toHaveLength(5);
});
