/** Creates repositories for the worktree benchmarks, and builds internal modules for the benchmark alone. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

// Ignores the user's git settings, here and in all measured processes.
Object.assign(process.env, { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" });

/** Runs git and returns its output. */
export function git(cwd, ...args) {
  return execFileSync("git", args, { cwd, encoding: "utf8", maxBuffer: 2 ** 28 }).trimEnd();
}

const FILES_PER_FOLDER = 50;

/** The path of a file of the repository. */
export function fileName(number) {
  return `src/part-${Math.floor(number / FILES_PER_FOLDER)}/file-${number}.txt`;
}

/** A repository with that many files of about 2 KB in folders, in one commit; `extra` are additional files. */
export function makeRepository(top, files, extra = {}) {
  for (let number = 0; number < files; number += 1) {
    const path = join(top, fileName(number));
    if (number % FILES_PER_FOLDER === 0) mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `file ${number}\n`.repeat(160));
  }
  for (const [name, text] of Object.entries(extra)) {
    mkdirSync(dirname(join(top, name)), { recursive: true });
    writeFileSync(join(top, name), text);
  }
  git(top, "init", "-q", "-b", "main");
  git(top, "config", "user.name", "Bench");
  git(top, "config", "user.email", "bench@example.org");
  git(top, "config", "gc.auto", "0");
  git(top, "add", "-A");
  git(top, "commit", "-q", "-m", "first");
}

/** Builds and loads a module of src/, as in the bundle. */
export async function loadSource(folder, path) {
  const outfile = join(folder, `${path.replaceAll("/", "-")}.mjs`);
  await build({
    entryPoints: [fileURLToPath(new URL(`../src/${path}`, import.meta.url))],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    outfile,
    logLevel: "warning",
  });
  return import(outfile);
}
