import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { Step } from "../../../src/workflow/model.ts";
import { openBench, shell, stepOf } from "./step-kit.ts";

const writeFile = (path: string, content: string, rest: { mode?: number } & Partial<Step> = {}) => {
  const { mode, ...options } = rest;
  return stepOf({ kind: "write_file", path, content, ...(mode !== undefined && { mode }) }, options);
};

test("write_file fills in its path and content, and creates the folders", async () => {
  const bench = openBench({ variables: { item: { name: "a b", text: "it's $HOME" } } });
  expect(await bench.run([writeFile("notes/${item.name}.md", "# ${item.text}\n")])).toMatchObject({
    kind: "done",
  });
  expect(bench.read("notes/a b.md")).toBe("# it's $HOME\n");
  expect(readdirSync(join(bench.root, "notes"))).toEqual(["a b.md"]);
  expect(bench.log()).toBe("== step 1: write_file: notes/a b.md (13 bytes) ==\n");
});

test("write_file sets the given mode, and keeps that of an existing file", async () => {
  const bench = openBench();
  await bench.run([writeFile("run.sh", "#!/bin/sh\ntouch ran\n", { mode: 0o750 }), shell("./run.sh")]);
  expect(bench.has("ran")).toBe(true);
  await bench.run([writeFile("run.sh", "other")]);
  expect(statSync(join(bench.root, "run.sh")).mode & 0o777).toBe(0o750);
  expect(bench.read("run.sh")).toBe("other");
});

test("write_file cannot leave its folder", async () => {
  const bench = openBench();
  const outside = join(dirname(bench.root), "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "file"), "untouched");
  symlinkSync(outside, join(bench.root, "folder-link"));
  symlinkSync(join(outside, "file"), join(bench.root, "file-link"));
  symlinkSync(join(outside, "not-there"), join(bench.root, "dangling"));
  const paths = [
    join(outside, "new"),
    "../outside/new",
    "a/../../outside/new",
    "folder-link/new",
    "folder-link/deep/new",
  ];
  for (const path of [...paths, "file-link", "dangling"]) {
    const failure = await bench.failure([writeFile(path, "escaped")]);
    expect(failure).toMatchObject({ errorType: { name: "ValidationFailed" }, errorClass: "permanent" });
  }
  expect(readdirSync(outside)).toEqual(["file"]);
  expect(readFileSync(join(outside, "file"), "utf8")).toBe("untouched");
});

test("nor can a path from an item", async () => {
  const bench = openBench({ variables: { item: "../../stolen" } });
  await bench.failure([writeFile("out/${item}", "x")]);
  expect(existsSync(join(dirname(bench.root), "stolen"))).toBe(false);
});

test("write_file follows a link inside the folder", async () => {
  const bench = openBench();
  await bench.run([shell("mkdir real; ln -s real linked; echo old > real/f; ln -s real/f f")]);
  expect(await bench.run([writeFile("linked/g", "g"), writeFile("f", "new")])).toMatchObject({
    kind: "done",
  });
  expect([bench.read("real/g"), bench.read("real/f")]).toEqual(["g", "new"]);
});

test("write_file runs in its working_dir, and its path can be captured", async () => {
  const bench = openBench();
  const step = writeFile("x.txt", "x", { workingDir: "sub", capture: { name: "path", format: "string" } });
  await bench.run([step]);
  expect(bench.read("sub/x.txt")).toBe("x");
  expect(bench.world.variables.path).toBe("x.txt");
});

test("a file that cannot be written fails the step with the reason", async () => {
  const bench = openBench();
  await bench.run([shell("mkdir taken; touch file")]);
  const failure = await bench.failure([writeFile("taken", "x")]);
  expect(failure.errorMessage).toMatch(/^taken could not be written: /);
  expect(await bench.failure([writeFile("file/x", "x")])).toMatchObject({ stepFailed: "write_file: file/x" });
  expect(readdirSync(bench.root).sort()).toEqual(["file", "taken"]);
});
