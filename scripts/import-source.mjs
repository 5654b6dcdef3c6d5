/** Imports a TypeScript source of src/ into a script, with all that it imports. */
import { build } from "esbuild";

export async function importSource(path) {
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString("base64");
  return import(`data:text/javascript;base64,${code}`);
}
