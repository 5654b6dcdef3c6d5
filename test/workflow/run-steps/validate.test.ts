import { expect, test } from "vitest";
import type { Validation } from "../../../src/workflow/model.ts";
import { claude, openBench, shell } from "./step-kit.ts";

const validated = (script: string, rest: Partial<Validation> = {}) =>
  shell("echo work >> work", { validate: { step: shell(script), threshold: 100, ...rest } });

test("a validation by exit code is all or nothing", async () => {
  const bench = openBench();
  expect(await bench.run([validated("true")])).toMatchObject({ kind: "done" });
  const failure = await bench.failure([validated("exit 2")]);
  expect(failure).toMatchObject({
    errorType: { name: "ValidationFailed" },
    stepFailed: "shell: echo work >> work",
  });
  expect(failure.errorMessage).toBe("the work is 0 % complete, but 100 % is required");
});

test.each([
  ["score", '{"score": 80, "missing": ["tests"]}'],
  ["completion_percentage", '{"completion_percentage": 80, "gaps": ["tests"]}'],
])("a score in the field %s counts against the threshold, whatever the exit code", async (_field, json) => {
  const bench = openBench();
  expect(await bench.run([validated(`echo '${json}'; exit 1`, { threshold: 80 })])).toMatchObject({
    kind: "done",
  });
  const failure = await bench.failure([validated(`echo looking; echo '${json}'`, { threshold: 81 })]);
  expect(failure.errorMessage).toBe("the work is 80 % complete, but 81 % is required; missing: tests");
});

test.each(["score: 80", "Score: 80%", "score: 80/100", "80%", "80 / 100", "80 out of 100"])(
  "a script may print its score as text: %s",
  async (text) => {
    const bench = openBench();
    const look = `echo looking; echo '${text}'`;
    expect(await bench.run([validated(look, { threshold: 80 })])).toMatchObject({ kind: "done" });
    const failure = await bench.failure([validated(look, { threshold: 81 })]);
    expect(failure.errorMessage).toBe("the work is 80 % complete, but 81 % is required");
  },
);

test("a step may write its result itself; the file of an earlier attempt does not count", async () => {
  const bench = openBench();
  const rate = (score: number) => shell(`echo '{"score": ${score}}' > r.json`);
  const onIncomplete = { steps: [rate(100)], maxAttempts: 1, failWorkflow: true };
  const validate = { step: shell("true"), isSelfRated: true as const, resultFile: "r.json", threshold: 90 };
  const work = { ...rate(40), validate: { ...validate, onIncomplete } };
  expect(await bench.run([work])).toMatchObject({ kind: "done" });
  const failure = await bench.failure([shell("true", { validate })]);
  expect(failure.errorMessage).toContain("the result_file of the validation was not written");
});

test("a line with a score that is no number is an error, not a success", async () => {
  const bench = openBench();
  for (const given of ["high", ""]) {
    const failure = await bench.failure([validated(`echo "score: ${given}"`)]);
    expect(failure.errorMessage).toContain(`its score is "${given}", not a number from 0 to 100`);
  }
});

test("on_incomplete reads what the validation has printed", async () => {
  const bench = openBench();
  const steps = [shell("printf '%s' \"${validation.output}\" > seen; touch fixed")];
  const onIncomplete = { steps, maxAttempts: 1, failWorkflow: true };
  const look = "[ -e fixed ] && echo score: 100 || { echo two gaps; echo score: 10; }";
  expect(await bench.run([validated(look, { onIncomplete })])).toMatchObject({ kind: "done" });
  expect(bench.read("seen").trim()).toBe("two gaps\nscore: 10");
});

test("on_incomplete sees the score and the gaps, then the work is validated again", async () => {
  const bench = openBench();
  const look = `n=$(wc -l < work); echo "{\\"score\\": $((n * 30)), \\"missing\\": [\\"part $n\\"]}"`;
  const steps = [shell("echo more >> work; echo ${validation.score} ${validation.missing[0]} >> seen")];
  const onIncomplete = { steps, maxAttempts: 5, failWorkflow: true };
  expect(await bench.run([validated(look, { threshold: 90, onIncomplete })])).toMatchObject({ kind: "done" });
  expect(bench.read("seen")).toBe("30 part 1\n60 part 2\n");
  expect(bench.read("work")).toBe("work\nmore\nmore\n");
});

test("work that stays incomplete fails, unless that is allowed", async () => {
  const bench = openBench();
  const handler = { steps: [shell("echo helped >> helped")], maxAttempts: 2 };
  await bench.failure([validated("false", { onIncomplete: { ...handler, failWorkflow: true } })]);
  expect(bench.read("helped")).toBe("helped\nhelped\n");
  const end = await bench.run([validated("false", { onIncomplete: { ...handler, failWorkflow: false } })]);
  expect(end).toMatchObject({ kind: "done" });
});

test("on_incomplete without retries runs once and does not change the score", async () => {
  const bench = openBench();
  const onIncomplete = { steps: [shell("touch good")], maxAttempts: 0, failWorkflow: true };
  await bench.failure([validated("test -e good", { onIncomplete })]);
  expect(bench.has("good")).toBe(true);
});

test("failing on_incomplete steps are the failure", async () => {
  const bench = openBench();
  const onIncomplete = { steps: [shell("exit 12")], maxAttempts: 3, failWorkflow: true };
  const failure = await bench.failure([validated("false", { onIncomplete })]);
  expect(failure).toMatchObject({ exitCode: 12 });
  expect(failure.errorContext).toContain("on_incomplete 1");
});

test("a validation that takes too long or cannot run is a failure, not a score", async () => {
  const bench = openBench();
  const step = shell("sleep 300", { timeoutMs: 500 });
  const late = await bench.failure([shell("true", { validate: { step, threshold: 0 } })]);
  expect(late).toMatchObject({ errorType: { name: "Timeout" }, stepFailed: "shell: sleep 300" });
  const unknown = shell("echo ${nothing}");
  const broken = await bench.failure([shell("true", { validate: { step: unknown, threshold: 0 } })]);
  expect(broken.errorMessage).toContain("nothing");
  expect(broken.errorContext).toContain("validate");
});

test("a step whose validation fails is retried as a whole", async () => {
  const bench = openBench();
  const retry = { maxAttempts: 3, backoff: { kind: "fixed", delayMs: 0, jitter: false } } as const;
  const step = { ...validated("test $(wc -l < work) -ge 2"), retry };
  expect(await bench.run([step])).toMatchObject({ kind: "done" });
  expect(bench.read("work")).toBe("work\nwork\n");
});

test("an agent that is throttled during a validation has judged nothing", async () => {
  const bench = openBench();
  const step = claude("how complete is it?", "rate-limit", {
    env: { RESETS_AT: "4102444800", FAKE_AGENT: "rate-limit" },
  });
  const failure = await bench.failure([shell("true", { validate: { step, threshold: 0 } })]);
  expect(failure).toMatchObject({ errorClass: "throttled", exitCode: 1 });
});

const reply = (text: string) => claude("how complete is it?", "", { env: { FAKE_REPLY: text } });

test.each([
  ["in a fence", 'Here it is:\n```json\n{"score": 40, "missing": ["tests"]}\n```\n'],
  ["before a sentence", '{"score": 40, "missing": ["tests"]} I hope that this helps.'],
  ["as text", '{"completion_percentage": "40 %", "gaps": ["tests"]}'],
  ["after other braces", 'In {main} I found {"a": {"b": 1}}: {"score": 40, "missing": ["tests"]}'],
])("an agent's score %s counts", async (_, text) => {
  const bench = openBench();
  const validated = (threshold: number) => [shell("true", { validate: { step: reply(text), threshold } })];
  expect(await bench.run(validated(40))).toMatchObject({ kind: "done" });
  const failure = await bench.failure(validated(41));
  expect(failure.errorMessage).toBe("the work is 40 % complete, but 41 % is required; missing: tests");
});

test.each([
  ["40", "the work is 40 % complete, but 80 % is required"],
  [
    '{"status": "incomplete", "gaps": ["docs"]}',
    "the work is 0 % complete, but 80 % is required; missing: docs",
  ],
  ['{"status": "partly"}', 'it has no score, and its status is "partly"'],
  ["All is done, 100 % sure.", "it has no JSON object with a score"],
  ["", "it has no JSON object with a score"],
  ['{"score": "high"}', 'its score is "high", not a number from 0 to 100'],
  ['{"score": 250}', "its score is 250, not a number from 0 to 100"],
])("an agent's answer %j does not pass", async (text, message) => {
  const step = reply(text);
  const failure = await openBench().failure([shell("true", { validate: { step, threshold: 80 } })]);
  expect(failure).toMatchObject({ errorType: { name: "ValidationFailed" } });
  expect(failure.errorMessage).toContain(message);
});

test("the exit code decides if a script prints no score", async () => {
  const bench = openBench();
  for (const printed of ["40", '{"status": "incomplete"}', "12 tests passed"])
    expect(await bench.run([validated(`echo '${printed}'`)])).toMatchObject({ kind: "done" });
  const failure = await bench.failure([validated(`echo '{"score": "unknown"}'`)]);
  expect(failure.errorMessage).toContain("the output of the validation cannot be read");
});
