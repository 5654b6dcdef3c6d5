/** The JSON Schema of a workflow file, for editors. It comes from the same source as the validator. */
import * as z from "zod";
import { workflowForm } from "./yaml-form.ts";

/** The schema, as JSON. */
export function workflowJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(workflowForm, { io: "input", target: "draft-2020-12" });
}

/** The schema as the file in `schema/` has it. */
export function schemaText(): string {
  return `${JSON.stringify(workflowJsonSchema(), null, 2)}\n`;
}
