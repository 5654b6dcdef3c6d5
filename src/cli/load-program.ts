/**
 * Loads the program from its bundles: a few files, each with chunks of modules that run on first import.
 * Compilation dominates the startup time of a short command, so V8's code cache is stored in the folder
 * `cache` next to the bundles. If that folder cannot be written, every start compiles the source.
 */
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";

/** A bundle's source is one expression of this type. */
interface Bundle {
  readonly chunks: Readonly<Record<string, Chunk>>;
  /** Maps each chunk to its bundle. Only the first bundle has this map. */
  readonly bundleOf?: Readonly<Record<string, string>>;
}

type Chunk = (
  exports: object,
  require: (name: string) => unknown,
  module: { exports: object },
  moduleUrl: string,
) => void;

/** Loads the program. `build` is part of the cache key, because V8 itself compares only the length of the source. */
export function loadProgram<Program>(folder: string, build: string): Program {
  const path = join(folder, "program.cjs");
  const first = openBundle(path, build)();
  const bundleOf = first.bundleOf ?? {};
  const bundles = new Map<string, () => Bundle>([["program", () => first]]);
  for (const name of Object.values(bundleOf)) {
    if (!bundles.has(name)) bundles.set(name, openBundle(join(folder, `${name}.cjs`), build));
  }
  const modules = new Map<string, { exports: object }>();
  const moduleUrl = pathToFileURL(path).href;
  const requireOther = createRequire(path);

  const requireAny = (name: string): unknown => {
    if (LATE_MODULES.includes(name)) return atFirstUse(() => requireOther(name));
    const known = modules.get(name);
    if (known) return known.exports;
    const chunk = bundles.get(bundleOf[name] ?? "")?.().chunks[name];
    if (!chunk) return requireOther(name);
    const module = { exports: {} };
    modules.set(name, module);
    chunk(module.exports, requireAny, module, moduleUrl);
    return module.exports;
  };
  return requireAny("./program.js") as Program;
}

/** Node modules that are slow to load, that many files import, and that read-only commands never call. */
const LATE_MODULES = ["node:crypto", "node:child_process"];

/** Returns a proxy that loads the module on first access to a property. */
function atFirstUse(load: () => object): object {
  let loaded: object | undefined;
  const module = () => {
    loaded ??= load();
    return loaded;
  };
  return new Proxy(
    {},
    {
      get: (_, name) => Reflect.get(module(), name),
      has: (_, name) => Reflect.has(module(), name),
      ownKeys: () => Reflect.ownKeys(module()),
      getOwnPropertyDescriptor: (_, name) => {
        const descriptor = Reflect.getOwnPropertyDescriptor(module(), name);
        return descriptor && { ...descriptor, configurable: true }; // required by the proxy invariants
      },
    },
  );
}

/** Opens the file now and reads it later, so that a long run loads chunks of its own build after an upgrade. */
function openBundle(path: string, build: string): () => Bundle {
  const file = openSync(path, "r");
  let bundle: Bundle | undefined;
  return () => {
    bundle ??= readBundle(file, path, build);
    return bundle;
  };
}

function readBundle(file: number, path: string, build: string): Bundle {
  const name = `${build}-${process.version}-${process.arch}-${basename(path, ".cjs")}`;
  const cachePath = join(dirname(path), "cache", name);
  const cachedData = readIfThere(cachePath);
  const text = readFileSync(file, "latin1"); // the build writes only ASCII
  closeSync(file);
  const script = new Script(text, { filename: path, ...(cachedData && { cachedData }) });
  const isCached = cachedData !== undefined && script.cachedDataRejected === false;
  if (!isCached) process.once("exit", () => saveCache(cachePath, script)); // by then, all used code is compiled
  return script.runInThisContext() as Bundle;
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // missing or unreadable: compile the source
  }
}

/** Writes atomically, because another process may read the cache at the same time. */
function saveCache(path: string, script: Script): void {
  const unfinished = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(unfinished, script.createCachedData());
    renameSync(unfinished, path);
  } catch {
    tryRemove(unfinished); // e.g. another user's folder or a full disk; the cache is optional
  }
}

function tryRemove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The file was never created, so there is nothing to remove.
  }
}
