/** Which launcher is opened, and how its binary comes to be. */
import { execFileSync } from "node:child_process";
import { statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterEach, expect, test, vi } from "vitest";
import { buildLauncher } from "../../scripts/build-launcher.mjs";
import { openLauncher } from "../../src/attempt/launcher.ts";
import { KINDS, temporaryFolder } from "./launch-kit.ts";

const hasNative = KINDS.includes("native");

afterEach(() => {
  vi.unstubAllEnvs();
});

test("the native launcher is used if its binary runs, else the one that needs none", () => {
  vi.stubEnv("REDRIVE_LAUNCHER", undefined);
  expect(openLauncher().kind).toBe(hasNative ? "native" : "spawn");
});

test("REDRIVE_LAUNCHER decides, and an unavailable launcher is an error", () => {
  vi.stubEnv("REDRIVE_LAUNCHER", "spawn");
  expect(openLauncher().kind).toBe("spawn");
  vi.stubEnv("REDRIVE_LAUNCHER", "/nowhere/redrive-launcher");
  expect(() => openLauncher()).toThrow(expect.objectContaining({ code: "usage" }));
});

test.runIf(hasNative)("the binary is compiled once, and again when its source is newer", () => {
  const folder = temporaryFolder();
  const binary = join(folder, "launcher", `${process.platform}-${process.arch}`, "redrive-launcher");
  expect(buildLauncher(folder)).toBe(true);
  const first = statSync(binary);
  expect(buildLauncher(folder)).toBe(true);
  expect(statSync(binary).ino).toBe(first.ino);
  utimesSync(binary, 0, 0);
  expect(buildLauncher(folder)).toBe(true);
  expect(statSync(binary).mtimeMs).toBeGreaterThan(0);
});

test.runIf(hasNative)("an idle launcher that nobody closed does not keep the runner alive", async () => {
  const folder = temporaryFolder();
  const outfile = join(folder, "runner.mjs");
  const spec = {
    cwd: folder,
    env: {},
    stdin: "",
    stdoutPath: join(folder, "out"),
    stderrPath: join(folder, "err"),
  };
  await build({
    stdin: {
      contents: `
        import { openLauncher } from "./src/attempt/launcher.ts";
        const ended = await openLauncher().launch({ argv: ["echo", "hi"], ...${JSON.stringify(spec)} }).ended;
        process.stdout.write(ended.stdout.inline);`,
      resolveDir: process.cwd(),
    },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile,
  });
  buildLauncher(folder);
  expect(execFileSync(process.execPath, [outfile], { encoding: "utf8", timeout: 30_000 })).toBe("hi\n");
});
