import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Json } from "../../../src/std/json.ts";
import type { Step } from "../../../src/workflow/model.ts";
import { isAlive } from "../../attempt/launch-kit.ts";
import { openBench, shell, stepOf } from "./step-kit.ts";

interface More extends Partial<Step> {
  readonly parallel?: number;
  readonly maxItems?: number;
}

function foreach(items: readonly Json[] | string, steps: readonly Step[], more: More = {}): Step {
  const { parallel = 1, maxItems, ...rest } = more;
  return stepOf(
    { kind: "foreach", items, steps, parallel, ...(maxItems !== undefined && { maxItems }) },
    rest,
  );
}

test("foreach runs its steps for each element in order, and the agent's item stays available", async () => {
  const bench = openBench({ variables: { item: { name: "agent" }, word: "b" } });
  const steps = [shell("echo ${foreach.index} ${foreach.item} ${foreach.total} ${item.name} >> trail")];
  expect(await bench.run([foreach(["a", "${word}", 3], steps)])).toMatchObject({ kind: "done" });
  expect(bench.read("trail")).toBe("0 a 3 agent\n1 b 3 agent\n2 3 3 agent\n");
});

test("without an agent's item, ${item} is the element", async () => {
  const bench = openBench();
  await bench.run([foreach([{ file: "x.rs" }], [shell("echo ${item.file} > seen")])]);
  expect(bench.read("seen")).toBe("x.rs\n");
});

test.each([
  ["a JSON array", `echo '["a", {"k": 1}]'`, ["a", '{"k":1}']],
  ["lines", "printf 'a\\n\\n[b\\n'", ["a", "[b"]],
  ["nothing", "true", []],
] as const)("the value of a template can be %s", async (_what, script, seen) => {
  const bench = openBench();
  const capture = { name: "list", format: "string" } as const;
  const steps = [shell("echo ${foreach.item} >> seen")];
  await bench.run([shell("touch seen"), shell(script, { capture }), foreach("${list}", steps)]);
  expect(bench.read("seen")).toBe(seen.map((line) => `${line}\n`).join(""));
});

test("max_items takes only the first ones", async () => {
  const bench = openBench();
  await bench.run([foreach(["a", "b", "c"], [shell("echo ${foreach.item} >> seen")], { maxItems: 2 })]);
  expect(bench.read("seen")).toBe("a\nb\n");
});

test("parallel runs that many at a time", async () => {
  const bench = openBench();
  // Each waits for the other, so that one after the other would never end.
  const meet = "touch here-${foreach.index}; until test -e here-0 && test -e here-1; do sleep 0.01; done";
  const end = await bench.run([foreach(["a", "b"], [shell(meet)], { parallel: 2, timeoutMs: 20_000 })]);
  expect(end).toMatchObject({ kind: "done" });
});

test("no more than parallel run at a time", async () => {
  const bench = openBench();
  const alone = "mkdir busy || exit 9; sleep 0.02; rmdir busy";
  expect(await bench.run([foreach([1, 2, 3, 4], [shell(alone)])])).toMatchObject({ kind: "done" });
});

test("a failure lets the others finish, starts no more, and names the element", async () => {
  const bench = openBench();
  const script = [
    "touch began-${foreach.item}",
    "if test ${foreach.item} = a; then until test -e began-b; do sleep 0.01; done; exit 3; fi",
    "until test -e a-failed -o $((tries = tries + 1)) -gt 100; do sleep 0.01; done",
    "touch ended-${foreach.item}",
  ].join("\n");
  const failure = await bench.failure([foreach(["a", "b", "c"], [shell(script)], { parallel: 2 })]);
  expect(failure).toMatchObject({ exitCode: 3 });
  expect(failure.errorContext?.slice(0, 2)).toEqual([
    "step 1 of 1: foreach: 3 items",
    "foreach item 1 of 3: a",
  ]);
  expect(readdirSync(bench.root).sort()).toEqual(["began-a", "began-b", "ended-b"]);
});

test("a capture of one element is not visible to another that runs at the same time", async () => {
  const bench = openBench();
  const steps = [
    shell("echo ${foreach.item}", { capture: { name: "mine", format: "string" } }),
    shell("touch got-${foreach.item}; until test -e got-a && test -e got-b; do sleep 0.01; done"),
    shell("echo ${foreach.item} ${mine} ${shell.output:-} > out-${foreach.item}"),
  ];
  await bench.run([foreach(["a", "b"], steps, { parallel: 2 })]);
  expect([bench.read("out-a").trim(), bench.read("out-b").trim()]).toEqual(["a a", "b b"]);
  expect(bench.world.variables.mine).toBe("b");
});

test("the timeout of a foreach ends what runs in it, and the step can be retried", async () => {
  const bench = openBench();
  const script = "if test -e second; then exit 0; fi; touch second; echo $$ > pid; sleep 300";
  const retry = { maxAttempts: 2, backoff: { kind: "fixed", delayMs: 0, jitter: false } } as const;
  const step = foreach(["a", "b"], [shell(script)], { timeoutMs: 2000, retry });
  expect(await bench.run([step])).toMatchObject({ kind: "done" });
  expect(isAlive(Number(bench.read("pid")))).toBe(false);
});

test("a foreach that exceeds its timeout is a Timeout that names it", async () => {
  const bench = openBench();
  const failure = await bench.failure([foreach(["a"], [shell("sleep 300")], { timeoutMs: 700 })]);
  expect(failure).toMatchObject({ errorType: { name: "Timeout" }, stepFailed: "shell: sleep 300" });
  expect(failure.errorMessage).toBe("foreach timed out after 700 ms in sleep 300");
});

test("a list that cannot be filled in fails before anything runs", async () => {
  const bench = openBench();
  const failure = await bench.failure([foreach("${nothing}", [shell("touch ran")])]);
  expect(failure.errorMessage).toContain("nothing");
  expect(readdirSync(bench.root)).toEqual([]);
});

test("the output of a foreach is that of its iterations", async () => {
  const bench = openBench();
  const step = foreach(["a", "b"], [shell("echo x-${foreach.item}")], {
    outputFile: "all",
    capture: { name: "all", format: "lines" },
  });
  await bench.run([step]);
  expect(bench.world.variables.all).toEqual(["x-a", "x-b"]);
  expect(bench.read("all")).toBe("x-a\nx-b");
  expect(readdirSync(join(bench.root))).toEqual(["all"]);
});
