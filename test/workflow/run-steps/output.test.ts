import { readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { CaptureFormat } from "../../../src/workflow/model.ts";
import { openBench, shell } from "./step-kit.ts";

const capture = (name: string, format: CaptureFormat) => ({ capture: { name, format } });

test("each format captures its type of value for later steps", async () => {
  const bench = openBench();
  const end = await bench.run([
    shell("echo ' two words '; echo", capture("s", "string")),
    shell(`echo '{"a": [1, 2]}'`, capture("j", "json")),
    shell("printf 'a\\n\\nb\\n'", capture("l", "lines")),
    shell("true", capture("none", "lines")),
    shell("echo ' -1.5e1 '", capture("n", "number")),
    shell("echo YES", capture("yes", "boolean")),
    shell("echo 0", capture("no", "boolean")),
    shell("printf %s ${s}-${j.a[1]} > seen"),
  ]);
  expect(end).toMatchObject({ kind: "done" });
  expect(bench.world.variables).toMatchObject({
    s: " two words ",
    j: { a: [1, 2] },
    l: ["a", "", "b"],
    none: [],
    n: -15,
    yes: true,
    no: false,
  });
  expect(bench.read("seen")).toBe(" two words -2");
});

test.each([
  ["json", "echo '{broken'"],
  ["number", "echo 12 apples"],
  ["number", "true"],
  ["boolean", "echo maybe"],
] as const)("output that is no %s fails the step and names the variable (%s)", async (format, script) => {
  const bench = openBench();
  const failure = await bench.failure([shell(script, capture("answer", format))]);
  expect(failure.errorType).toEqual({ name: "ValidationFailed" });
  expect(failure.errorMessage).toContain('the output for "answer"');
  expect(bench.world.variables).not.toHaveProperty("answer");
});

test.each([
  ["true", true],
  ["echo checked", true],
  ["echo yes", true],
  ["echo false", false],
  ["echo noise; echo false", false],
  ["exit 1", false],
  ["echo true; exit 1", false],
])("success is a boolean that is printed, or else whether the step succeeded (%s)", async (script, value) => {
  const bench = openBench();
  const onFailure = { steps: [], maxAttempts: 0, failWorkflow: false };
  const steps = [shell(script, { ...capture("passed", "success"), onFailure })];
  expect(await bench.run(steps)).toMatchObject({ kind: "done" });
  expect(bench.world.variables.passed).toBe(value);
});

test("a handler, and the steps after it, read what the failed step would have captured", async () => {
  const bench = openBench();
  const onFailure = { steps: [shell("echo handled ${answer} >> seen")], maxAttempts: 1, failWorkflow: false };
  const failing = "echo try >> tries; echo attempt $(wc -l < tries); exit 1";
  const steps = [
    shell(failing, { ...capture("answer", "string"), onFailure }),
    shell("echo later ${answer} >> seen"),
  ];
  expect(await bench.run(steps)).toMatchObject({ kind: "done" });
  expect(bench.read("seen")).toBe("handled attempt 1\nlater attempt 2\n");
});

test("output that is too large for a value is refused, not cut", async () => {
  const bench = openBench();
  const failure = await bench.failure([shell("head -c 9000000 /dev/zero", capture("big", "string"))]);
  expect(failure.errorMessage).toContain("the limit is 8 MiB");
});

test("a failed step captures nothing", async () => {
  const bench = openBench({ variables: { x: "before" } });
  await bench.failure([shell("echo after; exit 1", capture("x", "string"))]);
  expect(bench.world.variables.x).toBe("before");
});

test("the output of the last shell step is ${shell.output}", async () => {
  const bench = openBench();
  await bench.run([shell("echo one"), shell("echo two"), shell("echo ${shell.output} > seen")]);
  expect(bench.read("seen")).toBe("two\n");
});

test("output_file gets the complete standard output, beside the step's folder", async () => {
  const bench = openBench({ variables: { n: 7 } });
  const script = "mkdir -p sub; head -c 3000000 /dev/urandom > raw; cat raw; echo noise >&2";
  expect(await bench.run([shell(script, { outputFile: "copies/out-${n}.bin" })])).toMatchObject({
    kind: "done",
  });
  const raw = readFileSync(join(bench.root, "raw"));
  expect(readFileSync(join(bench.root, "copies/out-7.bin")).equals(raw)).toBe(true);
  await bench.run([shell("echo in sub", { workingDir: "sub", outputFile: "out" })]);
  expect(bench.read("sub/out")).toBe("in sub\n");
});

test("output_file cannot leave the folder, and a failed step keeps the old file", async () => {
  const bench = openBench();
  symlinkSync("..", join(bench.root, "up"));
  for (const outputFile of ["../escaped", "/tmp/redrive-escaped", "up/escaped"]) {
    const failure = await bench.failure([shell("echo x", { outputFile })]);
    expect(failure.errorMessage).toMatch(/^output_file: /);
  }
  await bench.run([shell("echo good", { outputFile: "kept" })]);
  await bench.failure([shell("echo bad; exit 1", { outputFile: "kept" })]);
  expect(bench.read("kept")).toBe("good\n");
});

test("the log has a section for each step, in order", async () => {
  const bench = openBench();
  const onFailure = { steps: [shell("echo fixing; touch fixed")], maxAttempts: 1, failWorkflow: true };
  await bench.run([shell("printf one"), shell("echo err >&2; test -e fixed", { onFailure })]);
  const withoutTimes = bench.log().replaceAll(/\d+(\.\d)? m?s\)/g, "TIME)");
  expect(withoutTimes).toBe(
    [
      "== step 1: shell: printf one (exit 0, TIME) ==",
      "== stdout (3 bytes) ==",
      "one",
      "== step 2: shell: echo err >&2; test -e fixed (exit 1, TIME) ==",
      "== stderr (4 bytes) ==",
      "err",
      "== step 2 > on_failure: shell: echo fixing; touch fixed (exit 0, TIME) ==",
      "== stdout (7 bytes) ==",
      "fixing",
      "== step 2 > again 1: shell: echo err >&2; test -e fixed (exit 0, TIME) ==",
      "== stderr (4 bytes) ==",
      "err",
      "",
    ].join("\n"),
  );
});

test("50 MB of output are in the log completely, and the record has its tail", async () => {
  const bench = openBench();
  const script = "head -c 50000000 /dev/zero | tr '\\0' x; echo the end; exit 1";
  const failure = await bench.failure([shell(script)]);
  expect(statSync(bench.world.logPath).size).toBeGreaterThan(50_000_000);
  expect(failure.stdoutTail?.endsWith("xxxthe end\n")).toBe(true);
  expect(failure.stdoutTail?.length).toBeLessThan(8200);
});

test("a log that cannot be written does not lose the result, and the record reports it", async () => {
  const bench = openBench();
  const world = { ...bench.world, logPath: join(bench.root, "file/1.log") };
  await bench.run([shell("touch file")]);
  const { runSteps } = await import("../../../src/workflow/run-steps.ts");
  expect(await runSteps([shell("echo fine")], world)).toMatchObject({ kind: "done" });
  const end = await runSteps([shell("echo bad >&2; exit 1")], world);
  expect(end).toMatchObject({ kind: "failed", failure: { exitCode: 1, stderrTail: "bad\n" } });
  expect(end.kind === "failed" && end.failure.errorContext?.at(-1)).toMatch(/^the log could not be written/);
});
