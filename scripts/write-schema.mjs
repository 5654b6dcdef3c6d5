/** Writes schema/workflow.schema.json, the JSON Schema of workflow files, from the source of the validator. */
import { mkdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const { outputFiles } = await build({
  entryPoints: ["src/workflow/json-schema.ts"],
  bundle: true,
  write: false,
  platform: "node",
  format: "esm",
});
const code = outputFiles[0]?.contents ?? new Uint8Array();
const { schemaText } = await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);
mkdirSync("schema", { recursive: true });
writeFileSync("schema/workflow.schema.json", schemaText());
