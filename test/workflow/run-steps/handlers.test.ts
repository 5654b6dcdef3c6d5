import { expect, test } from "vitest";
import { openBench, shell } from "./step-kit.ts";

const FIXED = { kind: "fixed", delayMs: 0, jitter: false } as const;

/** Fails until the file `fixed` is there, and counts its runs. */
const NEEDS_FIX = "echo run >> runs; test -e fixed || { echo not fixed >&2; exit 4; }";

test("on_failure runs, then the step runs again and its new outcome counts", async () => {
  const bench = openBench();
  const onFailure = { steps: [shell("touch fixed")], maxAttempts: 1, failWorkflow: true };
  expect(await bench.run([shell(NEEDS_FIX, { onFailure }), shell("touch after")])).toMatchObject({
    kind: "done",
  });
  expect(bench.read("runs")).toBe("run\nrun\n");
  expect(bench.has("after")).toBe(true);
});

test("the handler sees the failure", async () => {
  const bench = openBench();
  const script = "printf '%s|' ${error.message} ${error.exit_code} ${error.step} ${error.stderr} > seen";
  const onFailure = { steps: [shell(script)], maxAttempts: 0, failWorkflow: true };
  await bench.failure([shell("echo oops >&2; exit 5", { onFailure })]);
  expect(bench.read("seen")).toBe(
    "echo oops >&2; exit 5 failed with exit code 5: oops|5|shell: echo oops >&2; exit 5|oops\n|",
  );
});

test("the handler runs before each retry, and a step that keeps failing fails the attempt", async () => {
  const bench = openBench();
  const onFailure = { steps: [shell("echo handled >> runs")], maxAttempts: 2, failWorkflow: true };
  const failure = await bench.failure([shell(NEEDS_FIX, { onFailure })]);
  expect(bench.read("runs")).toBe("run\nhandled\nrun\nhandled\nrun\n");
  expect(failure.errorContext?.at(-1)).toBe("run again after on_failure, 2 of 2");
});

test("without retries after the handler the step has failed", async () => {
  const bench = openBench();
  const onFailure = { steps: [shell("touch fixed")], maxAttempts: 0, failWorkflow: true };
  await bench.failure([shell(NEEDS_FIX, { onFailure })]);
  expect(bench.read("runs")).toBe("run\n");
  expect(bench.has("fixed")).toBe(true);
});

test("fail_workflow: false continues the attempt after a step that keeps failing", async () => {
  const bench = openBench();
  const onFailure = { steps: [], maxAttempts: 0, failWorkflow: false };
  const onSuccess = [shell("touch success")];
  const end = await bench.run([shell("exit 1", { onFailure, onSuccess }), shell("touch after")]);
  expect(end).toMatchObject({ kind: "done" });
  expect([bench.has("after"), bench.has("success")]).toEqual([true, false]);
});

test("a failing handler is part of the trail of the step's own failure", async () => {
  const bench = openBench();
  const onFailure = { steps: [shell("exit 8")], maxAttempts: 3, failWorkflow: true };
  const failure = await bench.failure([shell(NEEDS_FIX, { onFailure })]);
  expect(failure).toMatchObject({ exitCode: 4 });
  expect(failure.errorContext?.at(-1)).toBe(
    "its on_failure steps failed too: exit 8 failed with exit code 8",
  );
  expect(bench.read("runs")).toBe("run\n");
});

test("the retries of a step precede its handler", async () => {
  const bench = openBench();
  const onFailure = { steps: [shell("echo handled >> runs")], maxAttempts: 1, failWorkflow: true };
  await bench.failure([shell(NEEDS_FIX, { onFailure, retry: { maxAttempts: 2, backoff: FIXED } })]);
  expect(bench.read("runs")).toBe("run\nrun\nhandled\nrun\n");
});

test("a throttled step is left to the runner, not to the handler", async () => {
  const bench = openBench();
  const script = `echo '{"class": "throttled"}' > $REDRIVE_FAILURE_FILE; exit 1`;
  const onFailure = { steps: [shell("touch handled")], maxAttempts: 1, failWorkflow: false };
  expect(await bench.failure([shell(script, { onFailure })])).toMatchObject({ errorClass: "throttled" });
  expect(bench.has("handled")).toBe(false);
});

test("on_success runs only after a success, and its failure is the step's", async () => {
  const bench = openBench();
  const onSuccess = [shell("echo ok >> trail"), shell("exit 6", { id: "notify" })];
  const failure = await bench.failure([shell("true", { onSuccess })]);
  expect(bench.read("trail")).toBe("ok\n");
  expect(failure).toMatchObject({ exitCode: 6, stepFailed: "shell: exit 6" });
  expect(failure.errorContext).toEqual([
    "step 1 of 1: shell: true",
    "on_success",
    "step 2 of 2 (notify): shell: exit 6",
  ]);
  await bench.failure([shell("false", { onSuccess: [shell("touch wrong")] })]);
  expect(bench.has("wrong")).toBe(false);
});

test("a listed exit code is not a failure by itself: its steps decide", async () => {
  const bench = openBench();
  const onExitCode = { "3": [shell("touch three")], "4": [shell("exit 9")] };
  const onSuccess = [shell("echo ${x} >> success")];
  const capture = { name: "x", format: "string" } as const;
  expect(await bench.run([shell("echo out; exit 3", { onExitCode, onSuccess, capture })])).toMatchObject({
    kind: "done",
  });
  expect(bench.has("three")).toBe(true);
  expect(bench.read("success")).toBe("out\n");
  const failure = await bench.failure([shell("exit 4", { onExitCode })]);
  expect(failure).toMatchObject({ exitCode: 9 });
  expect(failure.errorContext).toContain("on_exit_code 4");
  expect(await bench.failure([shell("exit 5", { onExitCode })])).toMatchObject({ exitCode: 5 });
});

test("a code can be listed for success too, and a timeout has no code", async () => {
  const bench = openBench();
  await bench.run([shell("true", { onExitCode: { "0": [shell("touch zero")] } })]);
  expect(bench.has("zero")).toBe(true);
  const script = "trap 'exit 3' TERM; sleep 300 & wait";
  const failure = await bench.failure([shell(script, { timeoutMs: 700, onExitCode: { "3": [] } })]);
  expect(failure.errorType).toEqual({ name: "Timeout" });
});

test("handlers can have steps with handlers, and the trail lists them", async () => {
  const bench = openBench();
  const inner = shell("exit 2", { onExitCode: { "2": [shell("exit 7")] } });
  const failure = await bench.failure([shell("exit 3", { onExitCode: { "3": [shell("true"), inner] } })]);
  expect(failure.errorContext).toEqual([
    "step 1 of 1: shell: exit 3",
    "on_exit_code 3",
    "step 2 of 2: shell: exit 2",
    "on_exit_code 2",
    "step 1 of 1: shell: exit 7",
  ]);
});

test("a handler whose agent is throttled leaves the item to the runner too", async () => {
  const bench = openBench();
  const handler = shell(`echo '{"class": "throttled"}' > $REDRIVE_FAILURE_FILE; exit 1`);
  const onFailure = { steps: [handler], maxAttempts: 1, failWorkflow: false };
  expect(await bench.failure([shell("exit 1", { onFailure })])).toMatchObject({ errorClass: "throttled" });
});

test("a message names the first significant line of the script", async () => {
  const bench = openBench();
  const failure = await bench.failure([shell("# build it\nset -eu\n\nexit 3 # ${raw:x:-}\n")]);
  expect(failure.errorMessage).toBe("exit 3 # … failed with exit code 3");
});

test("a handler that must not fail fails the attempt, whatever fail_workflow is", async () => {
  const bench = openBench();
  const rest = { maxAttempts: 0, failWorkflow: false } as const;
  const broken = { steps: [shell("exit 9")], ...rest };
  expect(await bench.run([shell("exit 1", { onFailure: broken })])).toMatchObject({ kind: "done" });
  const failure = await bench.failure([shell("exit 1", { onFailure: { ...broken, isFailureFatal: true } })]);
  expect(failure).toMatchObject({ exitCode: 1, errorContext: expect.any(Array) });
});

test("the time limit of a handler is for all of its steps", async () => {
  const bench = openBench();
  const steps = [shell("sleep 60"), shell("touch late")];
  const onFailure = { steps, maxAttempts: 0, failWorkflow: false, timeoutMs: 50 };
  expect(await bench.run([shell("exit 1", { onFailure })])).toMatchObject({ kind: "done" });
  expect([bench.has("late"), bench.log()]).toEqual([false, expect.stringContaining("on_failure")]);
});
