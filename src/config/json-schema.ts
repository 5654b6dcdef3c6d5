/** The JSON Schema of `redrive.yml`, for editors. It comes from the same source as the validator. */
import * as z from "zod";
import { configForm } from "./config-form.ts";

/** The schema, as JSON. */
export function configJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(configForm, { io: "input", target: "draft-2020-12" });
}

/** The schema as the file in `schema/` has it. */
export function schemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}
