import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isAlive, pidIn } from "../../attempt/launch-kit.ts";
import { TestClock } from "../../support/test-clock.ts";
import { until } from "../../support/until.ts";
import { openBench, shell } from "./step-kit.ts";

const FIXED = { kind: "fixed", delayMs: 0, jitter: false } as const;

test("steps run in order in their folder, and end with the success of the last one", async () => {
  const bench = openBench();
  const end = await bench.run([
    shell("echo one >> trail"),
    shell("echo two >> trail"),
    shell("pwd >> trail"),
  ]);
  expect(end).toMatchObject({ kind: "done" });
  expect(bench.read("trail")).toBe(`one\ntwo\n${bench.root}\n`);
});

test("a failing shell step fails the attempt, and no later step runs", async () => {
  const bench = openBench();
  const end = await bench.run([
    shell("true"),
    shell("echo broken >&2; exit 3", { id: "build" }),
    shell("touch after"),
  ]);
  expect(end).toMatchObject({
    kind: "failed",
    stepIndex: 1,
    failure: {
      attemptNumber: 1,
      agentId: "agent-1",
      errorType: { name: "CommandFailed", fields: { exit_code: 3 } },
      stepFailed: "shell: echo broken >&2; exit 3",
      errorContext: ["step 2 of 3 (build): shell: echo broken >&2; exit 3"],
      errorMessage: expect.stringContaining("failed with exit code 3: broken"),
      exitCode: 3,
      stderrTail: "broken\n",
      stdoutTail: "",
      log: bench.world.logPath,
    },
  });
  expect(bench.has("after")).toBe(false);
});

test("a value of the item is one word for the shell, whatever it contains", async () => {
  const name = "a'b; touch hacked $(touch hacked2)";
  const bench = openBench({ variables: { item: { name }, item_id: "i1" } });
  expect(await bench.run([shell("printf %s ${item.name} > seen")])).toMatchObject({ kind: "done" });
  expect(bench.read("seen")).toBe(name);
  expect(readdirSync(bench.root)).toEqual(["seen"]);
});

test("a value that is too large for the environment arrives completely, and its file is removed", async () => {
  const text = `${"x".repeat(3_000_000)}'"$(touch hacked)\n\n`;
  const bench = openBench({ variables: { item: { text, name: "n" } } });
  const step = shell(
    "printf %s ${item.text} > one; cat > two <<END\n${item.text}\nEND\nls ${item.name}* || :",
  );
  expect(await bench.run([step])).toMatchObject({ kind: "done" });
  expect(bench.read("one") === text).toBe(true);
  expect(bench.read("two") === `${text}\n`).toBe(true);
  expect(bench.has("hacked")).toBe(false);
  expect(readdirSync(bench.scratchFolder)).toEqual([]);
});

test("an unknown variable fails the step before anything runs", async () => {
  const bench = openBench();
  const failure = await bench.failure([
    shell("touch ran; echo ${itm.name}", { retry: { maxAttempts: 3, backoff: FIXED } }),
  ]);
  expect(failure).toMatchObject({ errorType: { name: "ValidationFailed" }, errorClass: "permanent" });
  expect(failure.errorMessage).toContain("itm");
  expect(bench.has("ran")).toBe(false);
});

test("a process gets its item, attempt, job and the environment of workflow and step", async () => {
  const variables = { item: { n: 1 }, item_id: "i1", job_id: "job-9" };
  const bench = openBench({ variables, env: { A: "world", B: "world" }, attempt: 4 });
  const script = 'echo "$A $B $REDRIVE_ITEM $REDRIVE_ITEM_ID $REDRIVE_ATTEMPT $REDRIVE_JOB_ID" > seen';
  await bench.run([shell(script, { env: { B: "step ${item.n}" } })]);
  expect(bench.read("seen")).toBe('world step 1 {"n":1} i1 4 job-9\n');
});

test("a step's own report of its failure is used", async () => {
  const bench = openBench();
  const report =
    '{"type": "BusinessException", "message": "no such customer", "retry_after": 5, "context": ["lookup"]}';
  const end = await bench.run([shell(`echo '${report}' > $REDRIVE_FAILURE_FILE; exit 1`)]);
  expect(end).toMatchObject({
    kind: "failed",
    retryAfterMs: 5000,
    failure: { errorType: { name: "BusinessException" }, errorMessage: "no such customer" },
  });
  expect(end.kind === "failed" && end.failure.errorContext?.at(-1)).toBe("lookup");
  expect(readdirSync(bench.scratchFolder)).toEqual([]);
});

test("a timeout ends the whole tree, even grandchildren, and names the step", async () => {
  const bench = openBench();
  const script = "sh -c 'sleep 300 & echo $! > grandchild.pid; wait' & wait";
  const failure = await bench.failure([shell(script, { timeoutMs: 2500 })]);
  expect(failure).toMatchObject({ errorType: { name: "Timeout" }, errorClass: "transient" });
  expect(failure.errorMessage).toMatch(/^sh -c .* timed out after 2.5 s$/);
  expect(isAlive(Number(bench.read("grandchild.pid")))).toBe(false);
});

test("the timeout of all steps together ends the running step, and names it", async () => {
  const bench = openBench();
  const retry = { maxAttempts: 5, backoff: FIXED };
  const end = await bench.run(
    [shell("true"), shell("echo begun; sleep 300", { retry }), shell("touch after")],
    {
      timeoutMs: 2500,
    },
  );
  expect(end).toMatchObject({
    kind: "failed",
    stepIndex: 1,
    failure: {
      errorType: { name: "Timeout" },
      stepFailed: "shell: echo begun; sleep 300",
      stdoutTail: "begun\n",
    },
  });
  expect(end.kind === "failed" && end.failure.errorMessage).toContain(
    "the attempt timed out after 2.5 s in echo begun",
  );
  expect(bench.has("after")).toBe(false);
});

test("stopping ends the running tree, counts no attempt and leaves no file", async () => {
  const bench = openBench();
  const running = bench.run([shell("sleep 300 & echo $! > child.pid; wait"), shell("touch after")]);
  const child = await pidIn(join(bench.root, "child.pid"));
  bench.stop.abort();
  expect(await running).toEqual({ kind: "stopped" });
  expect(isAlive(child)).toBe(false);
  expect(bench.has("after")).toBe(false);
  expect(readdirSync(bench.scratchFolder)).toEqual([]);
});

test("a run that is stopped before it begins runs nothing", async () => {
  const bench = openBench();
  bench.stop.abort();
  expect(await bench.run([shell("touch ran")])).toEqual({ kind: "stopped" });
  expect(bench.has("ran")).toBe(false);
});

test("retry counts every attempt, including the first one", async () => {
  const bench = openBench();
  const step = shell("echo try >> tries; exit 9", { retry: { maxAttempts: 3, backoff: FIXED } });
  const failure = await bench.failure([step]);
  expect(bench.read("tries")).toBe("try\n".repeat(3));
  expect(failure.errorContext).toEqual(["step 1 of 1: shell: echo try >> tries; exit 9", "attempt 3 of 3"]);
});

test("a step that succeeds on a later attempt has succeeded", async () => {
  const bench = openBench();
  const script = "echo try >> tries; test $(wc -l < tries) -ge 2";
  expect(await bench.run([shell(script, { retry: { maxAttempts: 5, backoff: FIXED } })])).toMatchObject({
    kind: "done",
  });
  expect(bench.read("tries")).toBe("try\n".repeat(2));
});

test("a retry waits for its backoff, and stopping ends the wait", async () => {
  const clock = new TestClock();
  const bench = openBench({ clock });
  const backoff = { kind: "list", delaysMs: [1000, 60_000], jitter: false } as const;
  const running = bench.run([shell("echo try >> tries; exit 1", { retry: { maxAttempts: 3, backoff } })]);
  await until("the first wait", () => clock.sleeping === 1);
  expect(bench.read("tries")).toBe("try\n");
  clock.advance(999);
  expect(clock.sleeping).toBe(1);
  clock.advance(1);
  await until("the second wait", () => clock.sleeping === 1);
  expect(bench.read("tries")).toBe("try\ntry\n");
  bench.stop.abort();
  expect(await running).toEqual({ kind: "stopped" });
});

test("a request for a longer wait than the step's own is left to the runner", async () => {
  const bench = openBench();
  const script = `echo try >> tries; echo '{"class": "throttled", "retry_after": 3600}' > $REDRIVE_FAILURE_FILE; exit 1`;
  const end = await bench.run([shell(script, { retry: { maxAttempts: 3, backoff: FIXED } })]);
  expect(end).toMatchObject({
    kind: "failed",
    retryAfterMs: 3_600_000,
    failure: { errorClass: "throttled" },
  });
  expect(bench.read("tries")).toBe("try\n");
});

test("when decides whether a step runs, and an error in it fails the step", async () => {
  const variables = { item: { size: 5 } };
  const bench = openBench({ variables });
  const end = await bench.run([
    shell("touch small", { when: "item.size < 3" }),
    shell("touch large", { when: "item.size >= 3" }),
  ]);
  expect(end).toMatchObject({ kind: "done" });
  expect([bench.has("small"), bench.has("large")]).toEqual([false, true]);
  expect(bench.log()).toContain("== step 1: shell: touch small (skipped) ==");
  for (const when of ["item.weight > 3", "nothing.here", "item.size +", "item.size"]) {
    const failure = await bench.failure([shell("touch wrong", { when })]);
    expect(failure.errorMessage).toContain(when);
  }
  expect(bench.has("wrong")).toBe(false);
});

test("working_dir is where the step runs, and cannot leave the folder", async () => {
  const bench = openBench({ variables: { folder: "deep/er" } });
  await bench.run([shell("mkdir -p deep/er; ln -s / out")]);
  expect(await bench.run([shell("touch here", { workingDir: "${folder}" })])).toMatchObject({ kind: "done" });
  expect(bench.has("deep/er/here")).toBe(true);
  for (const workingDir of ["..", "/tmp", "deep/../..", "out/tmp", "not-there"]) {
    const failure = await bench.failure([shell("touch escaped", { workingDir })]);
    expect(failure.errorMessage).toMatch(/^working_dir: /);
  }
});

test("continuing at a later step skips the earlier ones, and each outcome is reported", async () => {
  const bench = openBench();
  const told: number[] = [];
  const steps = [shell("echo a >> trail"), shell("echo b >> trail"), shell("echo c >> trail")];
  await bench.run(steps, { from: 1, onDone: (index) => void told.push(index) });
  expect(bench.read("trail")).toBe("b\nc\n");
  expect(told).toEqual([1, 2]);
});

test("the next step waits until the last outcome is stored", async () => {
  const bench = openBench();
  const seen: boolean[] = [];
  await bench.run([shell("true"), shell("touch second")], {
    onDone: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(bench.has("second"));
    },
  });
  expect(seen).toEqual([false, true]);
});

test("each step that starts is reported with its number and label", async () => {
  const told: unknown[] = [];
  const bench = openBench({ variables: { x: "v" }, onStep: (...step) => told.push(step) });
  await bench.run([shell("true"), shell("echo ${x}")]);
  expect(told).toEqual([
    [0, 2, "shell: true"],
    [1, 2, "shell: echo 'v'"],
  ]);
});

test("a missing program is a permanent failure that names it", async () => {
  const bench = openBench();
  const action = { kind: "agent", command: ["no-such-agent"], prompt: "go", protocol: "plain" } as const;
  const step = { ...shell("true"), action, retry: { maxAttempts: 3, backoff: FIXED } };
  const failure = await bench.failure([step]);
  expect(failure).toMatchObject({ errorType: { name: "CommandFailed" }, errorClass: "permanent" });
  expect(failure.errorMessage).toContain("no-such-agent cannot be started (ENOENT)");
  expect(failure.errorContext?.at(-1)).toBe("attempt 1 of 3");
});

test("a run leaves nothing in its scratch folder, and its log folder is created on demand", async () => {
  const bench = openBench();
  expect(existsSync(bench.world.logPath)).toBe(false);
  await bench.run([shell("head -c 100000 /dev/zero; echo x >&2")]);
  expect(readdirSync(bench.scratchFolder)).toEqual([]);
  expect(bench.log()).toContain("== stdout (100000 bytes) ==");
});
