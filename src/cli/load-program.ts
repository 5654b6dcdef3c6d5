/**
 * Loads the bundle with the commands. Reading its text is most of a short command's start, so what the engine made of it is
 * kept in a file beside the bundle and used the next time. Where that folder cannot be written, every start reads the text.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { constants, Script } from "node:vm";

type Wrapper = (
  exports: object,
  require: NodeJS.Require,
  module: { exports: object },
  filename: string,
  dirname: string,
) => void;

/** `build` tells one bundle from another: the engine itself compares no more than the length of the text. */
export function loadProgram<Program>(path: string, build: string): Program {
  const cachePath = join(dirname(path), "cache", `${build}-${process.version}-${process.arch}`);
  const cachedData = readIfThere(cachePath);
  const script = new Script(wrap(readFileSync(path, "utf8")), {
    filename: path,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(cachedData && { cachedData }),
  });
  const isKept = cachedData !== undefined && script.cachedDataRejected === false;
  if (!isKept) process.once("exit", () => keep(cachePath, script)); // by then it has seen what a command needs
  const module = { exports: {} };
  const run = script.runInThisContext() as Wrapper;
  run(module.exports, createRequire(path), module, path, dirname(path));
  return module.exports as Program;
}

/** As Node wraps a CommonJS file; on one line, so that line numbers stay. */
function wrap(text: string): string {
  return `(function (exports, require, module, __filename, __dirname) { ${text}\n})`;
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // not there, or not to be read: the text is
  }
}

/** Whole or not at all: another process may read it at this moment. */
function keep(path: string, script: Script): void {
  const unfinished = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(unfinished, script.createCachedData());
    renameSync(unfinished, path);
  } catch {
    tryRemove(unfinished); // a folder of somebody else, a full disk: it is only quicker with it
  }
}

function tryRemove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Where it could not be made, nothing is left of it.
  }
}
