/** The source files and what they import, read as text: enough for rules about layout, and quick. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");
const SRC = join(ROOT, "src");

export interface Source {
  /** Relative to src/, e.g. `retry/decide.ts`. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

export interface Import {
  /** Relative to src/, or the name of a package. */
  readonly target: string;
  readonly isPackage: boolean;
  /** Loaded when it is needed: `import("…")`, or a `require` that was made for it. */
  readonly isLazy: boolean;
  /** Only its types are used: nothing is loaded. */
  readonly isType: boolean;
}

/** Every TypeScript file of src/. */
export function readSources(): readonly Source[] {
  return readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path))
    .sort()
    .map((path) => {
      const text = readFileSync(join(SRC, path), "utf8");
      return { path, text, imports: importsOf(path, text) };
    });
}

const STATIC_IMPORT = /^(?:import|export)\b( type\b)?[^"';]*?\bfrom\s+"([^"]+)"|^import\s+"([^"]+)"/gm;
const LAZY_IMPORT =
  /(?<!typeof )\bimport\(\s*"([^"]+)"\s*\)|\bcreateRequire\(import\.meta\.url\)\(\s*"([^"]+)"\s*\)/g;

function importsOf(path: string, text: string): Import[] {
  const named = [...text.matchAll(STATIC_IMPORT)].map((match) => ({
    specifier: match[2] ?? match[3] ?? "",
    isLazy: false,
    isType: match[1] !== undefined,
  }));
  const lazy = [...text.matchAll(LAZY_IMPORT)].map((match) => ({
    specifier: match[1] ?? match[2] ?? "",
    isLazy: true,
    isType: false,
  }));
  return [...named, ...lazy].map(({ specifier, ...how }) => {
    const isPackage = !specifier.startsWith(".");
    const target = isPackage ? specifier : relative(SRC, join(SRC, dirname(path), specifier));
    return { target, isPackage, ...how };
  });
}

/** Where a file belongs: its stage (the first folder), or its own name when it lies in src/ itself. */
export function placeOf(path: string): string {
  return path.split("/")[0] ?? path;
}
