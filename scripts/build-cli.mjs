/**
 * Builds the command line: chunks of modules that are always needed together, packed into a few bundles. A start reads the
 * bundles that its command needs, and runs only the chunks that it imports; `src/cli/load-program.ts` does that.
 */
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build, transform } from "esbuild";

/**
 * The bundles, with the modules that each is for: those loaded by an `import()` whose path matches. A chunk goes into the first
 * bundle that needs it. So a command reads the bundle with its own code, and earlier ones that it shares.
 */
const BUNDLES = [
  { name: "program", roots: /^cli\/program$|^engines\/sqlite\/open$|^cli\/commands\/dlq-list$/ },
  {
    name: "running",
    roots:
      /^cli\/commands\/map$|^run\/map-handler$|^service\/(letter-retention|letter-mirror|letter-directory)$|^config\/config$|^redrive\/(limits|enforce-limits)$|^(attempt|intake)\//,
  },
  { name: "letters", roots: /^cli\/commands\/(dlq|groups|ops|jobs|status|logs|errors)/ },
  {
    name: "workflow",
    roots: /^cli\/commands\/workflow$|^run\/workflow-agent$|^workspace\/|^config\//,
  },
  { name: "postgres", roots: /^engines\/postgres\// },
  {
    name: "queues",
    roots: /^cli\/commands\/(queue|receipts|worker)|^delivery\/|^run\/deliver$|^service\/queue-maintainer$/,
  },
  { name: "more", roots: /./ },
];

/** Writes `main.cjs` and the bundles into the folder. */
export async function buildCli(folder, { common, external }) {
  const chunks = await buildChunks(common, external);
  const bundles = pack(chunks);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of bundles) writeFileSync(`${folder}/${name}.cjs`, text);
  await buildMain(folder, common, buildIdOf(bundles));
}

/** esbuild splits only ES modules, and a code cache works only for scripts: so split first, then convert. */
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

/** The name by which other chunks import it. */
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

/** V8 keeps ASCII text in half the memory. What esbuild leaves is in regular expressions and comments. */
function inAscii(code) {
  return code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The text of each bundle. The first one also has the bundle of each chunk. */
function pack(chunks) {
  const bundleOf = bundleOfChunks(chunks);
  const bundles = BUNDLES.map(({ name }, index) => {
    const functions = chunks
      .filter((chunk) => bundleOf[chunk.name] === name)
      .map((chunk) => `${JSON.stringify(chunk.name)}(exports, require, module, moduleUrl) {${chunk.text}}`);
    const known = index === 0 ? `bundleOf: ${JSON.stringify(bundleOf)},\n` : "";
    return [name, `({${known}chunks: {\n${functions.join(",\n")}\n}})\n`];
  });
  return new Map(bundles);
}

function bundleOfChunks(chunks) {
  const bundleOf = {};
  for (const { name, roots: pattern } of BUNDLES) {
    const roots = chunks.filter(({ module }) => module && pattern.test(module));
    for (const chunk of reachedFrom(roots, chunks)) bundleOf[chunk] ??= name;
  }
  return bundleOf;
}

function reachedFrom(roots, chunks) {
  const needsOf = new Map(chunks.map(({ name, needs }) => [name, needs]));
  const reached = new Set(roots.map(({ name }) => name));
  for (const name of reached) for (const needed of needsOf.get(name)) reached.add(needed);
  return reached;
}

function buildIdOf(bundles) {
  const hash = createHash("sha256");
  for (const text of bundles.values()) hash.update(text);
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
