/** Writes the files of schema/, the JSON Schemas of what people write, from the sources of the validators. */
import { mkdirSync, writeFileSync } from "node:fs";
import { importSource } from "./import-source.mjs";

const SOURCES = {
  "schema/workflow.schema.json": "src/workflow/yaml-form.ts",
  "schema/redrive.schema.json": "src/config/config-form.ts",
};

mkdirSync("schema", { recursive: true });
for (const [path, source] of Object.entries(SOURCES)) {
  const { schemaText } = await importSource(source);
  writeFileSync(path, schemaText());
}
