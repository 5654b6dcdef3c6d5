/** Builds dist/: the library and the command line as bundles with shared chunks, the types, and the native launcher. */
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { build } from "esbuild";
import { buildLauncher } from "./build-launcher.mjs";

const { version, dependencies } = JSON.parse(readFileSync("package.json", "utf8"));

for (const name of ["cli", "types", "chunks"]) rmSync(`dist/${name}`, { recursive: true, force: true });

const common = {
  bundle: true,
  platform: "node",
  target: "node20.19",
  define: { REDRIVE_VERSION: JSON.stringify(version) },
  logLevel: "warning",
};

// The entry is CommonJS because that starts faster; it loads the rest only when a command needs it.
await build({
  ...common,
  entryPoints: { "cli/main": "src/cli/main.ts" },
  outdir: "dist",
  outExtension: { ".js": ".cjs" },
  format: "cjs",
  external: ["./program.js"],
  banner: { js: "#!/usr/bin/env node" },
});
await build({
  ...common,
  entryPoints: { index: "src/index.ts", "cli/program": "src/cli/program.ts" },
  outdir: "dist",
  format: "esm",
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  external: Object.keys(dependencies),
});
chmodSync("dist/cli/main.cjs", 0o755);
execFileSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
await buildLauncher("dist");
