/** Writes the files of schema/, the JSON Schemas of what people write, from the sources of the validators. */
import { mkdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const SOURCES = {
  "schema/workflow.schema.json": "src/workflow/yaml-form.ts",
  "schema/redrive.schema.json": "src/config/config-form.ts",
};

mkdirSync("schema", { recursive: true });
for (const [path, source] of Object.entries(SOURCES)) {
  const { outputFiles } = await build({
    entryPoints: [source],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
  });
  const code = outputFiles[0]?.contents ?? new Uint8Array();
  const { schemaText } = await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);
  writeFileSync(path, schemaText());
}
