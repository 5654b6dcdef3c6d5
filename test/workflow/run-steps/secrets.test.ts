import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { Action, Step } from "../../../src/workflow/model.ts";
import { maskerOf } from "../../../src/workflow/secrets.ts";
import { fc } from "../../support/properties.ts";
import { claude, openBench, shell, stepOf } from "./step-kit.ts";

const SECRET = `tok"en'$4711 é`;
const MASKED = {
  secretValues: [SECRET],
  env: { API_TOKEN: SECRET },
  variables: { env: { API_TOKEN: SECRET } },
};
const TELLING = ["4711", 'tok"en', "tok\\"];

test("a printed secret is in no record, log or label, and still reaches the steps", async () => {
  const labels: string[] = [];
  const bench = openBench({ ...MASKED, onStep: (_index, _total, label) => labels.push(label) });
  const script = [
    'printf %s "$API_TOKEN" > seen',
    'echo "out $API_TOKEN"; echo "err $API_TOKEN" >&2; echo ${env.API_TOKEN} "in ${env.API_TOKEN}"',
    `printf '{"message": "report %s", "context": ["%s"]}' 4711 "4711 $USELESS" > $REDRIVE_FAILURE_FILE; exit 1`,
  ].join("\n");
  const failure = await bench.failure([shell(script)]);
  expect(bench.read("seen")).toBe(SECRET);
  const record = JSON.stringify(failure);
  expect(failure.stdoutTail).toBe("out ***\n*** in ***\n");
  expect(failure.stderrTail).toBe("err ***\n");
  expect(bench.log()).toContain("out ***");
  expect(labels.join()).toContain("***");
  for (const telling of TELLING.slice(1)) {
    expect(`${record}${bench.log()}${labels.join()}`).not.toContain(telling);
  }
});

test("a secret is masked in an agent's JSON log and in its report", async () => {
  const bench = openBench(MASKED);
  const end = await bench.run([claude("use ${env.API_TOKEN}", "print-secret")]);
  expect(end.kind).toBe("done");
  for (const name of readdirSync(dirname(bench.world.logPath))) {
    const text = readFileSync(join(dirname(bench.world.logPath), name), "utf8");
    expect(text).toContain("***");
    for (const telling of TELLING) expect(text).not.toContain(telling);
  }
});

test("a secret that a step names is in no process argument", async () => {
  const bench = openBench(MASKED);
  const script = "tr '\\0' '\\n' </proc/$$/cmdline > arguments; printf %s ${env.API_TOKEN} > seen";
  await bench.run([shell(process.platform === "linux" ? script : "printf %s ${env.API_TOKEN} > seen")]);
  expect(bench.read("seen")).toBe(SECRET);
  if (process.platform === "linux") expect(bench.read("arguments")).not.toContain("4711");
  await bench.run([claude("use ${env.API_TOKEN} and $API_TOKEN", "note-arguments note-prompt")]);
  expect(bench.read("arguments.json")).not.toContain("4711");
  expect(bench.read("prompt.txt")).toBe(`use ${SECRET} and ${SECRET}`);
});

test.each([
  ["an argument of an agent", agentWith({ command: ["node", "--token=${env.API_TOKEN}"] })],
  ["a prompt that is an argument", agentWith({ prompt: "use $API_TOKEN", promptBy: "argument" })],
  ["a raw value in a script", shell("echo ${raw:env.API_TOKEN}")],
])("a secret in %s is refused and not shown", async (_where, step) => {
  const failure = await openBench(MASKED).failure([step]);
  expect(failure).toMatchObject({ errorType: { name: "ValidationFailed" }, errorClass: "permanent" });
  expect(failure.errorMessage).toContain("a secret");
  expect(JSON.stringify(failure)).not.toContain("4711");
});

function agentWith(rest: Partial<Extract<Action, { kind: "agent" }>>): Step {
  return stepOf({ kind: "agent", command: ["node"], prompt: "go", protocol: "plain", ...rest });
}

test("a captured secret is available to the steps, and masked where it is written", async () => {
  const bench = openBench(MASKED);
  const capture = { name: "token", format: "string" } as const;
  const failure = await bench.failure([
    shell('printf %s "$API_TOKEN"', { capture }),
    shell("test ${token} = wrong", { validate: { step: shell("true"), threshold: 1 } }),
  ]);
  expect(bench.world.variables.token).toBe(SECRET);
  expect(failure.stepFailed).toBe("shell: test '***' = wrong");
});

test("a secret in output larger than the chunks in memory is masked at any position", async () => {
  const bench = openBench({ secretValues: ["s3cr3t-value"], env: { S: "s3cr3t-value" } });
  const script =
    'i=0; while test $i -lt 40; do head -c 9973 /dev/zero | tr "\\0" x; printf %s "$S"; i=$((i+1)); done';
  await bench.run([shell(script)]);
  expect(bench.log()).not.toContain("s3cr3t");
  expect(bench.log().split("***")).toHaveLength(41);
});

test("a secret across chunks is found, and all other bytes are unchanged", () => {
  const { maskChunk } = maskerOf(["secret-one", "secret-one-longer"]);
  const bytes = fc
    .uint8Array({ maxLength: 30 })
    .map((part) => Buffer.from(part.filter((byte) => byte !== 0x73)));
  fc.assert(
    fc.property(fc.array(bytes), fc.array(fc.nat(40)), (parts, cuts) => {
      const text = Buffer.concat(parts.flatMap((part) => [part, Buffer.from("secret-one-longer")]));
      const chunks: Buffer[] = [];
      let at = 0;
      for (const cut of [...cuts, text.length]) {
        chunks.push(text.subarray(at, at + cut));
        at += cut;
      }
      const masked = Buffer.concat([...maskChunk(chunks, { cutBefore: false, cutAfter: false })]);
      const expected = Buffer.concat(parts.flatMap((part) => [part, Buffer.from("***")]));
      return at >= text.length && masked.equals(expected);
    }),
  );
});

test("half a secret at a cut edge is masked too", () => {
  const { maskChunk } = maskerOf(["abcdefghij"]);
  const masked = (text: string, cutBefore: boolean, cutAfter: boolean) =>
    Buffer.concat([...maskChunk([Buffer.from(text)], { cutBefore, cutAfter })]).toString();
  expect(masked("efghij and abcdef", true, true)).toBe("*** and ***");
  expect(masked("efghij and abcdef", false, false)).toBe("efghij and abcdef");
});

test("a secret is found in its usual encodings, and line by line", () => {
  const { mask } = maskerOf(['pa ss"wör/d', "-----BEGIN\nlongline1\nlongline2\nx"]);
  for (const form of [
    'pa ss"wör/d',
    'pa ss\\"wör/d',
    "pa%20ss%22w%C3%B6r%2Fd",
    "pa%20ss%22w%c3%b6r%2fd",
    "pa+ss%22w%C3%B6r%2Fd",
  ]) {
    expect(mask(`<${form}>`)).toBe("<***>");
  }
  expect(mask("longline1 then longline2, x")).toBe("*** then ***, x");
});

test("the longest of overlapping secrets is masked completely", () => {
  expect(maskerOf(["abcd", "abcdefgh"]).mask("abcdefgh abcd")).toBe("*** ***");
});

test("a secret that is too short to be masked is refused without being shown", () => {
  expect(() => maskerOf(["abc"])).toThrow("A secret of 3 characters cannot be masked");
  expect(maskerOf([""]).mask("text")).toBe("text");
});
