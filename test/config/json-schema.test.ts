/** The JSON Schema for editors: the published file is the one that the validator's source makes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { configJsonSchema, schemaText } from "../../src/config/config-form.ts";

const ROOT = join(import.meta.dirname, "../..");

test("schema/redrive.schema.json is up to date (node scripts/write-schema.mjs)", () => {
  expect(readFileSync(join(ROOT, "schema/redrive.schema.json"), "utf8")).toBe(schemaText());
});

test("it has and describes every key, and refuses others", () => {
  const schema = configJsonSchema() as {
    properties: Record<string, unknown>;
    additionalProperties: boolean;
    $defs: Record<
      string,
      { properties: Record<string, { description?: string }>; additionalProperties: boolean }
    >;
  };
  expect(Object.keys(schema.properties)).toEqual([
    ...["dlq", "jobs", "fixes", "groups", "classify", "prices", "redact", "login", "work", "watch"],
  ]);
  expect(schema.additionalProperties).toBe(false);
  const {
    dlq,
    fix,
    group,
    watch,
    alert_rule: rule,
    alert_channel: channel,
    quiet_hours: quiet,
  } = schema.$defs;
  expect(Object.keys(dlq?.properties ?? {})).toEqual(
    "max_items retention_days poison_after toxic_after mirror dir".split(" "),
  );
  expect(Object.keys(fix?.properties ?? {})).toEqual(
    "name match set patch command timeout max_uses auto".split(" "),
  );
  expect(Object.keys(group?.properties ?? {})).toEqual(["name", "match"]);
  expect(Object.keys(watch?.properties ?? {})).toEqual(
    "schedule time_zone on_arrival gather cool_down recovery quiet_hours rules channels".split(" "),
  );
  expect(Object.keys(rule?.properties ?? {})).toEqual(
    "name depth oldest arrival_rate new_group breaker_open store_unhealthy queues severity channels cool_down".split(
      " ",
    ),
  );
  expect(Object.keys(channel?.properties ?? {})).toEqual(
    "type url url_env headers_env command timeout".split(" "),
  );
  for (const form of [dlq, fix, group, watch, rule, channel, quiet]) {
    expect(form?.additionalProperties).toBe(false);
    for (const key of Object.values(form?.properties ?? {})) expect(key.description).toMatch(/\S.*\.$/);
  }
});
