/**
 * Builds the command line: chunks of modules that are always needed together, bound into a few volumes. A start reads the
 * volumes that its command needs, and runs no more of their chunks than it asks for; `src/cli/load-program.ts` does it.
 */
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build, transform } from "esbuild";

/**
 * The volumes, with the modules that each is made for: of those that are loaded by an `import()`, what matches. A chunk is bound
 * into the first volume that needs it. So a command reads the volume with its own code, and those before it that it shares.
 */
const VOLUMES = [
  { name: "program", made: /^cli\/program$|^engines\/sqlite\/open$|^cli\/commands\/dlq-list$/ },
  {
    name: "running",
    made: /^cli\/commands\/(map|resume)$|^job\/(map-work|keeper|mirroring|receipts-mirror)$|^config\/config$|^redrive\/(limits|enforce-limits)$|^(attempt|intake)\//,
  },
  { name: "letters", made: /^cli\/commands\/(dlq|groups|ops|jobs|status|logs|events|errors)/ },
  {
    name: "workflow",
    made: /^cli\/commands\/(run|validate)$|^job\/(workflow-work|git-site)$|^worktree\/|^config\//,
  },
  { name: "postgres", made: /^engines\/postgres\// },
  { name: "queues", made: /^cli\/commands\/(queue|receipts|worker)|^delivery\/|^job\/(target-work|tender)$/ },
  { name: "more", made: /./ },
];

/** Writes `main.cjs` and the volumes into the folder. */
export async function buildCli(folder, { common, external }) {
  const chunks = await buildChunks(common, external);
  const volumes = bind(chunks);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of volumes) writeFileSync(`${folder}/${name}.cjs`, text);
  await buildMain(folder, common, buildIdOf(volumes));
}

/** esbuild splits modules of the standard form alone, and a code cache knows scripts alone: so first the one, then the other. */
async function buildChunks(common, external) {
  const { outputFiles, metafile } = await build({
    ...common,
    entryPoints: { program: "src/cli/program.ts" },
    outdir: "dist/cli",
    format: "esm",
    splitting: true,
    chunkNames: "[name]-[hash]",
    external,
    write: false,
    metafile: true,
    minifySyntax: true,
  });
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [nameOf(path), output]));
  return Promise.all(
    outputFiles.map(async ({ path, text }) => {
      const name = nameOf(path);
      const { imports, entryPoint } = outputs.get(name);
      const module = entryPoint?.replace(/^src\/|\.ts$/g, "");
      return { name, module, needs: namesOf(imports), text: await asFunctionBody(text, common) };
    }),
  );
}

/** As the other chunks call it. */
function nameOf(path) {
  return `./${basename(path)}`;
}

function namesOf(imports) {
  return imports
    .filter(({ kind, external }) => kind === "import-statement" && !external)
    .map(({ path }) => nameOf(path));
}

async function asFunctionBody(text, { platform, target }) {
  const { code } = await transform(text, {
    platform,
    target,
    format: "cjs",
    supported: { "dynamic-import": false }, // a script that comes from a code cache cannot `import()`, but it can require
    define: { "import.meta.url": "moduleUrl" },
    minifySyntax: true,
  });
  return inAscii(code);
}

/** As one byte a character a text takes half the memory. What esbuild leaves is in regular expressions and comments. */
function inAscii(code) {
  return code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The text of each volume. The first one also knows where the chunks of the others are. */
function bind(chunks) {
  const places = placesOf(chunks);
  const volumes = VOLUMES.map(({ name }, index) => {
    const functions = chunks
      .filter((chunk) => places[chunk.name] === name)
      .map((chunk) => `${JSON.stringify(chunk.name)}(exports, require, module, moduleUrl) {${chunk.text}}`);
    const known = index === 0 ? `places: ${JSON.stringify(places)},\n` : "";
    return [name, `({${known}chunks: {\n${functions.join(",\n")}\n}})\n`];
  });
  return new Map(volumes);
}

function placesOf(chunks) {
  const places = {};
  for (const { name, made } of VOLUMES) {
    const roots = chunks.filter(({ module }) => module && made.test(module));
    for (const chunk of reachedFrom(roots, chunks)) places[chunk] ??= name;
  }
  return places;
}

function reachedFrom(roots, chunks) {
  const needsOf = new Map(chunks.map(({ name, needs }) => [name, needs]));
  const reached = new Set(roots.map(({ name }) => name));
  for (const name of reached) for (const needed of needsOf.get(name)) reached.add(needed);
  return reached;
}

function buildIdOf(volumes) {
  const hash = createHash("sha256");
  for (const text of volumes.values()) hash.update(text);
  return hash.digest("hex").slice(0, 16);
}

async function buildMain(folder, common, buildId) {
  const main = `${folder}/main.cjs`;
  await build({
    ...common,
    entryPoints: ["src/cli/main.ts"],
    outfile: main,
    format: "cjs",
    define: { ...common.define, REDRIVE_BUILD_ID: JSON.stringify(buildId), "import.meta.url": "moduleUrl" },
    banner: { js: 'const moduleUrl = require("node:url").pathToFileURL(__filename).href;' },
    minifySyntax: true,
  });
  writeFileSync(main, `#!/usr/bin/env node\n${readFileSync(main, "utf8")}`);
  chmodSync(main, 0o755);
}
