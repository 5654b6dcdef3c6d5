/** Builds dist/: the library and the command line as bundles with shared chunks, the types, and the native launcher. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

// Commander for a fast start; the other because its default export is not one when CommonJS requires it.
const INSIDE_CLI = ["commander", "jsonpath-rfc9535"];

// The command line is CommonJS in one file with commander inside, because that starts fastest. What a command does not
// need is not run: esbuild keeps the modules behind each `import()` asleep, and libraries are loaded by those who use them.
await build({
  ...common,
  entryPoints: { "cli/main": "src/cli/main.ts", "cli/program": "src/cli/program.ts" },
  outdir: "dist",
  outExtension: { ".js": ".cjs" },
  format: "cjs",
  supported: { "dynamic-import": false }, // a script that comes from a code cache cannot `import()`, but it can require
  external: ["./program.cjs", ...Object.keys(dependencies).filter((name) => !INSIDE_CLI.includes(name))],
  banner: { js: 'const moduleUrl = require("node:url").pathToFileURL(__filename).href;' },
  define: { ...common.define, "import.meta.url": "moduleUrl" },
  minifySyntax: true,
});
await build({
  ...common,
  entryPoints: { index: "src/index.ts" },
  outdir: "dist",
  format: "esm",
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  external: Object.keys(dependencies),
});
const main = "dist/cli/main.cjs";
const buildId = createHash("sha256").update(readFileSync("dist/cli/program.cjs")).digest("hex").slice(0, 16);
writeFileSync(
  main,
  `#!/usr/bin/env node\n${readFileSync(main, "utf8").replaceAll("REDRIVE_BUILD_ID", buildId)}`,
);
chmodSync(main, 0o755);
execFileSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
await buildLauncher("dist");
