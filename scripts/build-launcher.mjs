/**
 * Compiles launcher/launcher.c into `<outDir>/launcher/<platform>-<arch>/redrive-launcher`. A missing compiler is
 * no failure: Redrive then starts its commands from Node, which is slower but does the same.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const SOURCE = join(ROOT, "launcher", "launcher.c");
const FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra"];

/** True when the launcher for this machine is there and up to date afterwards. */
export function buildLauncher(outDir = join(ROOT, "dist")) {
  if (process.platform === "linux" && process.arch !== "arm64" && hasCompiler("aarch64-linux-gnu-gcc")) {
    compile("aarch64-linux-gnu-gcc", binaryPath(outDir, "linux-arm64"));
  }
  const binary = binaryPath(outDir, `${process.platform}-${process.arch}`);
  if (isFresh(binary)) return true;
  if (!hasCompiler("cc")) {
    process.stderr.write(
      "build-launcher: no C compiler (cc) here; commands will be started from Node instead.\n",
    );
    return false;
  }
  return compile("cc", binary);
}

function binaryPath(outDir, target) {
  return join(outDir, "launcher", target, "redrive-launcher");
}

function isFresh(binary) {
  return existsSync(binary) && statSync(binary).mtimeMs > statSync(SOURCE).mtimeMs;
}

function hasCompiler(compiler) {
  return spawnSync(compiler, ["--version"], { stdio: "ignore" }).status === 0;
}

/** Static where the system can, so that one binary runs on every Linux; renamed into place when it is whole. */
function compile(compiler, binary) {
  if (isFresh(binary)) return true;
  mkdirSync(dirname(binary), { recursive: true });
  const fresh = `${binary}.${process.pid}`;
  const attempt = (flags) =>
    spawnSync(compiler, [...FLAGS, ...flags, SOURCE, "-o", fresh], { encoding: "utf8" });
  const result = [["-static", "-s"], []].reduce(
    (done, flags) => (done?.status === 0 ? done : attempt(flags)),
    undefined,
  );
  if (result?.status === 0) {
    renameSync(fresh, binary);
    return true;
  }
  rmSync(fresh, { force: true });
  const why = (result?.stderr ?? "").trim().split("\n")[0] ?? "";
  process.stderr.write(
    `build-launcher: ${compiler} failed (${why}); commands will be started from Node instead.\n`,
  );
  return false;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) buildLauncher();
