/** What later steps can read about a step that has ended, and steps that collect or ignore failures. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claude, openBench, shell, stepOf } from "./step-kit.ts";

test("the last step, the last shell step and a step with an id can be read", async () => {
  const bench = openBench();
  const ignored = { steps: [], maxAttempts: 0, failWorkflow: false };
  const steps = [
    shell("echo out; echo err >&2; exit 3", { id: "build", onFailure: ignored }),
    claude("hello"),
    shell(
      "echo ${steps.build.exit_code} ${steps.build.success} ${steps.build.output} ${steps.build.stderr} > seen",
    ),
    shell("echo ${claude.success} ${last.exit_code} ${shell.exit_code} >> seen"),
  ];
  expect(await bench.run(steps)).toMatchObject({ kind: "done" });
  expect(bench.read("seen")).toBe("3 false out err\ntrue 0 0\n");
});

test("a skipped step has not succeeded", async () => {
  const bench = openBench();
  const steps = [
    shell("true", { id: "build", when: "false" }),
    shell("echo [${steps.build.success}] [${steps.build.output}] > seen"),
  ];
  expect(await bench.run(steps)).toMatchObject({ kind: "done" });
  expect(bench.read("seen")).toBe("[false] []\n");
});

test("a capture may be a field, and has the result of its step beside it", async () => {
  const bench = openBench();
  const steps = [
    shell("echo 1.2", { capture: { name: "build.version", format: "string" } }),
    shell("echo 7", { capture: { name: "build.number", format: "number" } }),
    shell(
      "echo ${build.version} ${build.number} ${steps['build.number'].success} > seen".replaceAll("'", '"'),
    ),
  ];
  expect(await bench.run(steps)).toMatchObject({ kind: "done" });
  expect(bench.read("seen")).toBe("1.2 7 true\n");
});

test("a condition reads variables that may be missing", async () => {
  const bench = openBench();
  const steps = [
    shell("touch a", { when: "asNumber(vars.?score.orValue(null)) >= 80" }),
    shell("echo 85", { capture: { name: "score", format: "string" } }),
    shell("touch b", { when: "asNumber(vars.?score.orValue(null)) >= 80" }),
  ];
  expect(await bench.run(steps)).toMatchObject({ kind: "done" });
  expect([bench.has("a"), bench.has("b")]).toEqual([false, true]);
});

test("a foreach over a command continues after a failure, and has its own item", async () => {
  const bench = openBench({ variables: { item: "outer", index: 9 } });
  const action = {
    kind: "foreach" as const,
    items: { command: "printf 'x\\ny\\n\\nz\\n'" },
    steps: [shell("echo ${item} ${index} of ${total} >> seen; test ${item} != y")],
    parallel: 1,
    ownItem: true as const,
  };
  const stopped = await bench.failure([stepOf(action)]);
  expect([stopped.exitCode, bench.read("seen")]).toEqual([1, "x 0 of 3\ny 1 of 3\n"]);
  expect(await bench.run([stepOf({ ...action, continueOnError: true })])).toMatchObject({ kind: "done" });
  expect(bench.read("seen")).toBe("x 0 of 3\ny 1 of 3\nx 0 of 3\ny 1 of 3\nz 2 of 3\n");
});

test("a foreach whose command fails is a failed step", async () => {
  const bench = openBench();
  const action = {
    kind: "foreach" as const,
    items: { command: "exit 4" },
    steps: [shell("touch a")],
    parallel: 1,
  };
  expect((await bench.failure([stepOf(action)])).exitCode).toBe(4);
  expect(bench.has("a")).toBe(false);
});

test("a validation of several steps fails with the first of them", async () => {
  const bench = openBench();
  const validate = { earlier: [shell("touch a; exit 1")], step: shell("touch b"), threshold: 100 };
  const failure = await bench.failure([shell("true", { validate })]);
  expect(failure.errorMessage).toBe("the work is 0 % complete, but 100 % is required");
  expect([bench.has("a"), bench.has("b")]).toEqual([true, false]);
});

test("a validation may answer in a file, with gaps for the steps that fill them", async () => {
  const bench = openBench();
  const answer = (score: number) =>
    `{"completion_percentage": ${score}, "missing": ["m"], "gaps": {"g": {"severity": "high"}}}`;
  const step = shell(
    `echo noise; if test -e filled; then echo '${answer(100)}'; else echo '${answer(40)}'; fi > r.json`,
  );
  const help = shell("echo ${validation.gaps.g.severity} ${validation.missing} ${validation.score} > filled");
  const onIncomplete = { steps: [help], maxAttempts: 2, failWorkflow: true };
  const validate = { step, resultFile: "r.json", threshold: 90, onIncomplete };
  expect(await bench.run([shell("true", { validate })])).toMatchObject({ kind: "done" });
  expect(bench.read("filled")).toBe('high ["m"] 40\n');
});

test("the answer of an earlier validation does not count", async () => {
  const bench = openBench();
  const validate = { step: shell("true"), resultFile: "r.json", threshold: 90 };
  const failure = await bench.failure([shell(`echo '{"score": 100}' > r.json`, { validate })]);
  expect(failure.errorMessage).toContain("the result_file of the validation was not written");
});

test("a time limit for all steps of a validation", async () => {
  const bench = openBench();
  const validate = { earlier: [shell("true")], step: shell("sleep 60"), timeoutMs: 200, threshold: 90 };
  expect((await bench.failure([shell("true", { validate })])).errorType.name).toBe("Timeout");
});

test("a step with a name is shown by it", async () => {
  const bench = openBench();
  const labels: string[] = [];
  Object.assign(bench.world, { onStep: (_: number, __: number, label: string) => labels.push(label) });
  await bench.run([shell("true", { name: "Build the site" })]);
  expect(labels).toEqual(["Build the site"]);
});

test("only failures that match are retried, and no retry begins after the budget", async () => {
  const bench = openBench();
  const backoff = { kind: "fixed", delayMs: 0, jitter: false } as const;
  const fails = (retry: object) =>
    bench.failure([
      shell("echo x >> tries; echo no such thing >&2; exit 1", {
        retry: { maxAttempts: 3, backoff, ...retry },
      }),
    ]);
  const triesOf = async (retry: object) => {
    rmSync(join(bench.root, "tries"), { force: true });
    await fails(retry);
    return bench.read("tries").length / 2;
  };
  expect(await triesOf({ on: ["(?i)NO SUCH", "other"] })).toBe(3);
  expect(await triesOf({ on: ["timed out"] })).toBe(1);
  expect(await triesOf({ backoff: { ...backoff, delayMs: 60_000 }, budgetMs: 1000 })).toBe(1);
});

test("a file is written in its format, or the step fails", async () => {
  const bench = openBench({ variables: { n: 1 } });
  const file = (path: string, content: string, format: "json" | "yaml") =>
    stepOf({ kind: "write_file", path, content, format });
  expect(
    await bench.run([file("a/b.json", '{"n":${n}}', "json"), file("c.yml", "{a: [1]}", "yaml")]),
  ).toMatchObject({ kind: "done" });
  expect([bench.read("a/b.json"), bench.read("c.yml")]).toEqual(['{\n  "n": 1\n}\n', "a:\n  - 1\n"]);
  expect((await bench.failure([file("d.json", "{", "json")])).errorMessage).toContain(
    "The content is not valid JSON",
  );
});
