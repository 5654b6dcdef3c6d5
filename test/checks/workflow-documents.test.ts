/** The page about workflows has every key that a workflow may have, and every variable that is there without being made. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  ERROR_FIELDS,
  FOREACH_FIELDS,
  MAP_FIELDS,
  RESERVED_NAMES,
  VALIDATION_FIELDS,
} from "../../src/workflow/step-variables.ts";
import { ROOT } from "./sources.ts";

const page = readFileSync(join(ROOT, "docs/05-workflows.md"), "utf8");
const schema: unknown = JSON.parse(readFileSync(join(ROOT, "schema/workflow.schema.json"), "utf8"));

/** Every name under `properties`, at any depth. */
function keysOf(node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  const own = "properties" in node && typeof node.properties === "object" ? (node.properties ?? {}) : {};
  return [...Object.keys(own), ...Object.values(node).flatMap(keysOf)];
}

describe("the page about workflows", () => {
  it("has every key", () => {
    const keys = [...new Set(keysOf(schema))];
    expect(keys).toEqual(expect.arrayContaining(["agent_template", "on_incomplete", "half_open_requests"]));
    const missing = keys.filter((key) => !new RegExp(`[\`{ ,]${key}[\`:},]`).test(page));
    expect(missing).toEqual([]);
  });

  it("has every built-in variable", () => {
    const fields = Object.entries({
      map: MAP_FIELDS,
      error: ERROR_FIELDS,
      validation: VALIDATION_FIELDS,
      foreach: FOREACH_FIELDS,
    }).flatMap(([name, all]) => all.map((field) => ({ name, field })));
    const missing = fields.filter(
      ({ name, field }) => !page.includes(`\${${name}.${field}}`) && !page.includes(`\`.${field}\``),
    );
    expect(missing).toEqual([]);
    expect([...RESERVED_NAMES].filter((name) => !page.includes(name))).toEqual([]);
  });
});
