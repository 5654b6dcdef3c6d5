/** A folder with the packed package beside the packages of this repository, in which programs are compiled and run. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The two module resolutions that TypeScript projects use for packages. */
export const RESOLUTIONS = {
  node16: { module: "node16", moduleResolution: "node16" },
  bundler: { module: "esnext", moduleResolution: "bundler" },
} as const;

/** As strict as a project can be. `experimentalDecorators` is for NestJS. */
const COMPILER_OPTIONS = {
  target: "es2022",
  lib: ["es2023", "esnext.disposable"],
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  experimentalDecorators: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  rewriteRelativeImportExtensions: true,
};

export class PackedPackage {
  readonly #directory = new TemporaryDirectory();
  readonly folder: string;

  /** `dist/` was built before the tests; packing must not build it again. */
  constructor() {
    this.folder = join(this.#directory.path, "project");
    const modules = join(this.folder, "node_modules");
    mkdirSync(modules, { recursive: true });
    linkPackages(join(ROOT, "node_modules"), modules);
    const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", this.#directory.path];
    const [tarball] = JSON.parse(must("npm", pack, ROOT)) as [{ filename: string }];
    must("tar", ["-xzf", join(this.#directory.path, tarball.filename), "-C", this.#directory.path], ROOT);
    renameSync(join(this.#directory.path, "package"), join(modules, "redrive"));
    this.write("package.json", JSON.stringify({ name: "project", private: true, type: "module" }));
  }

  write(path: string, text: string): void {
    mkdirSync(join(this.folder, path, ".."), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  /** Compiles these files into `built/`, or only checks them with the resolution of bundlers. Returns what tsc prints. */
  compile(files: readonly string[], resolution: keyof typeof RESOLUTIONS): string {
    const output = resolution === "node16" ? { outDir: "built", rootDir: "." } : { noEmit: true };
    const compilerOptions = { ...COMPILER_OPTIONS, ...RESOLUTIONS[resolution], ...output };
    this.write(`tsconfig.${resolution}.json`, JSON.stringify({ compilerOptions, files }));
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    return spawnSync(tsc, ["-p", `tsconfig.${resolution}.json`], { cwd: this.folder, encoding: "utf8" })
      .stdout;
  }

  remove(): void {
    this.#directory.remove();
  }
}

function must(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  expect(status, `${command} ${args.join(" ")}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

/** Links every package, those of a scope one by one. */
function linkPackages(from: string, to: string): void {
  for (const name of readdirSync(from)) {
    if (name.startsWith(".") || name === "redrive") continue;
    if (!name.startsWith("@")) symlinkSync(join(from, name), join(to, name));
    else {
      mkdirSync(join(to, name));
      linkPackages(join(from, name), join(to, name));
    }
  }
}
