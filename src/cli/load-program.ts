/**
 * Loads the program from its volumes: a few files, each with chunks of modules that are run when they are first asked for.
 * Reading the text is most of a short command's start, so what the engine made of a volume is kept in a file beside it and
 * used the next time. Where that folder cannot be written, every start reads the text.
 */
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";

/** The text of a volume is one expression of this kind. */
interface Volume {
  readonly chunks: Readonly<Record<string, Chunk>>;
  /** Which volume a chunk is in. The first volume knows it of all. */
  readonly places?: Readonly<Record<string, string>>;
}

type Chunk = (
  exports: object,
  require: (name: string) => unknown,
  module: { exports: object },
  moduleUrl: string,
) => void;

/** `build` tells one program from another: the engine itself compares no more than the length of the text. */
export function loadProgram<Program>(folder: string, build: string): Program {
  const path = join(folder, "program.cjs");
  const first = openVolume(path, build)();
  const places = first.places ?? {};
  const volumes = new Map<string, () => Volume>([["program", () => first]]);
  for (const name of Object.values(places)) {
    if (!volumes.has(name)) volumes.set(name, openVolume(join(folder, `${name}.cjs`), build));
  }
  const modules = new Map<string, { exports: object }>();
  const moduleUrl = pathToFileURL(path).href;
  const requireOther = createRequire(path);

  const requireAny = (name: string): unknown => {
    if (LATE_MODULES.includes(name)) return atFirstUse(() => requireOther(name));
    const known = modules.get(name);
    if (known) return known.exports;
    const chunk = volumes.get(places[name] ?? "")?.().chunks[name];
    if (!chunk) return requireOther(name);
    const module = { exports: {} };
    modules.set(name, module);
    chunk(module.exports, requireAny, module, moduleUrl);
    return module.exports;
  };
  return requireAny("./program.js") as Program;
}

/** Modules of Node that take milliseconds to load, that many files name, and that a command which only looks never calls. */
const LATE_MODULES = ["node:crypto", "node:child_process"];

/** Stands for the module, and loads it when something of it is asked for. */
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
        return descriptor && { ...descriptor, configurable: true }; // a proxy may not show any other
      },
    },
  );
}

/** Opened at once and read when it is needed: what a long run asks for late is of its own build, whatever was installed since. */
function openVolume(path: string, build: string): () => Volume {
  const file = openSync(path, "r");
  let volume: Volume | undefined;
  return () => {
    volume ??= readVolume(file, path, build);
    return volume;
  };
}

function readVolume(file: number, path: string, build: string): Volume {
  const name = `${build}-${process.version}-${process.arch}-${basename(path, ".cjs")}`;
  const cachePath = join(dirname(path), "cache", name);
  const cachedData = readIfThere(cachePath);
  const text = readFileSync(file, "latin1"); // the build writes nothing but ASCII
  closeSync(file);
  const script = new Script(text, { filename: path, ...(cachedData && { cachedData }) });
  const isKept = cachedData !== undefined && script.cachedDataRejected === false;
  if (!isKept) process.once("exit", () => keep(cachePath, script)); // by then it has seen what a command needs
  return script.runInThisContext() as Volume;
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
