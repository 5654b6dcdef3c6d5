/** Builds dist/: the library and the command line as bundles with shared chunks, the types, and the native launcher. */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { build } from "esbuild";
import { buildCli } from "./build-cli.mjs";
import { buildConsole } from "./build-console.mjs";
import { buildLauncher } from "./build-launcher.mjs";
import { newStoreSql } from "./new-store.mjs";

const { version, dependencies, peerDependencies } = JSON.parse(readFileSync("package.json", "utf8"));

for (const name of ["cli", "types", "chunks"]) rmSync(`dist/${name}`, { recursive: true, force: true });

const packages = Object.keys({ ...dependencies, ...peerDependencies });

const common = {
  bundle: true,
  platform: "node",
  target: "node20.19",
  define: {
    REDRIVE_VERSION: JSON.stringify(version),
    REDRIVE_NEW_STORE: JSON.stringify(await newStoreSql()),
  },
  logLevel: "warning",
};

// For a fast start: a bundle has no more of a library than is used, and is read from the code cache.
const INSIDE_CLI = ["commander", "yaml", "zod", "json-p3"];
// These consist of many small files, which every program that uses them would read and compile one by one.
const INSIDE_LIBRARY = ["zod", "@marcbachmann/cel-js"];

const console = buildConsole("../../dist/page");
await buildCli("dist/cli", {
  common,
  external: packages.filter((name) => !INSIDE_CLI.includes(name)),
});
await build({
  ...common,
  entryPoints: {
    index: "src/index.ts",
    engine: "src/exports/engine.ts",
    triage: "src/exports/triage.ts",
    testing: "src/exports/testing.ts",
    otel: "src/exports/otel.ts",
    server: "src/server/index.ts",
    client: "src/server/client.ts",
  },
  outdir: "dist",
  format: "esm",
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  external: packages.filter((name) => !INSIDE_LIBRARY.includes(name)),
});
execFileSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
await buildLauncher("dist");
await console;
