/** Input files for commands: valid ones, broken ones, and paths that are not files. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const WORKFLOW = `name: fuzzed
mode: mapreduce
setup:
  - shell: echo '[{"id":"a"},{"id":"b"}]' > items.json
map:
  input: items.json
  json_path: "$[*]"
  isolation: none
  agent_template:
    - shell: test \${item.id} = a
reduce:
  - shell: echo \${map.successful}
`;

const LETTER = {
  item_id: "x1",
  item_data: { a: 1 },
  first_attempt: "2026-01-01T00:00:00.000Z",
  last_attempt: "2026-01-01T00:00:01.000Z",
  failure_count: 1,
  failure_history: [
    {
      attempt_number: 1,
      timestamp: "2026-01-01T00:00:01.000Z",
      error_type: { CommandFailed: { exit_code: 3 } },
      error_message: "it failed",
      step_failed: "map",
      agent_id: "a",
      duration_ms: 3,
    },
  ],
  error_signature: "CommandFailed::it failed",
  reprocess_eligible: true,
  manual_review_required: false,
};

const SOUND = [
  ["items.json", '[{"a":1,"id":"a"},{"a":2,"id":"b"}]'],
  ["items.jsonl", '{"a":1}\n{"a":2}\n'],
  ["items.csv", "a,b\n1,2\n3,4\n"],
  ["lines.txt", "one\ntwo\n"],
  ["workflow.yml", WORKFLOW],
  ["letter.json", JSON.stringify(LETTER)],
  ["letters.jsonl", `${JSON.stringify(LETTER)}\n${JSON.stringify({ ...LETTER, item_id: "x2" })}\n`],
  ["redrive.yml", "watch:\n  schedule: '*/30 * * * *'\n"],
  ["schema.json", '{"type":"object","required":["a"]}'],
];

const BROKEN = [
  () => "",
  () => "\0\0\0\0",
  () => Buffer.from([0xff, 0xfe, 0x80, 0x0a, 0xc3, 0x28]),
  () => '{"a":',
  () => '[1,2,{"a":nul}]',
  () => "[".repeat(200_000),
  () => '{"a":'.repeat(50_000),
  () => "- ".repeat(5_000),
  () => "a: &a [*a]\n",
  () => "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n",
  () => `{"a":"${"x".repeat(3_000_000)}"}\n`,
  () => 'a,b\n"1,2\n3',
  () => "a,a\n1,2,3,4\n\n",
  () => "null",
  () => '"text"',
  () => "[[[1]]]",
  () => '{"item_id":7,"failure_history":"no"}',
  () => '[{"item_id":"x","failure_history":[null]}]',
  () => '{"__proto__":{"x":1},"constructor":1}\n',
  () => "\u{feff}{}\n",
  () => '{"a":1e999,"b":-0,"c":123456789012345678901234567890}\n',
  () => "name: [\n",
  () => "name: x\nmap: 3\n",
  () => "name: x\nmode: mapreduce\nmap:\n  input: nowhere.json\n  agent_template:\n    - shell: 'true'\n",
  () => "%YAML 9.9\n---\n!!js/function x\n",
];

/** Writes an input into the folder and returns its path. */
export function writeInput(folder, chance) {
  const one = (list) => list[chance.between(0, list.length - 1)];
  mkdirSync(folder, { recursive: true });
  const [name, text] = one(SOUND);
  const path = join(folder, name);
  const kind = chance.random();
  if (kind < 0.35) writeFileSync(path, text);
  else if (kind < 0.6) writeFileSync(path, one(BROKEN)());
  else if (kind < 0.8) writeFileSync(path, mutate(Buffer.from(text), chance));
  else return oddPath(folder, name, chance);
  return path;
}

/** Changes, removes and duplicates a few bytes. */
export function mutate(bytes, chance) {
  let changed = Buffer.from(bytes);
  for (let count = chance.between(1, 4); count > 0 && changed.length > 0; count--) {
    const at = chance.between(0, changed.length - 1);
    const kind = chance.between(0, 3);
    if (kind === 0) changed[at] = chance.between(0, 255);
    if (kind === 1) changed = changed.subarray(0, at);
    if (kind === 2)
      changed = Buffer.concat([changed.subarray(0, at), changed.subarray(at + chance.between(1, 20))]);
    if (kind === 3) changed = Buffer.concat([changed.subarray(0, at), changed]);
  }
  return changed;
}

function oddPath(folder, name, chance) {
  const path = join(folder, name);
  const kind = chance.between(0, 5);
  if (kind === 0) mkdirSync(path, { recursive: true });
  if (kind === 1) makeFifo(path, chance.random() < 0.5 ? "" : '{"a":1}\n[');
  if (kind === 2) writeFileSync(join(folder, "file"), "");
  if (kind === 3) symlinkTo(path, path);
  if (kind === 4) symlinkTo("/dev/null", path);
  return kind === 2 ? join(folder, "file", name) : path;
}

/** A pipe with a separate writer process, because a command may block its thread to read it. The writer times out. */
function makeFifo(path, text) {
  try {
    execFileSync("mkfifo", [path], { stdio: "ignore" });
  } catch {
    return; // it exists from an earlier call
  }
  const writer = ["3", "sh", "-c", 'printf %s "$1" > "$2"', "sh", text, path];
  spawn("timeout", writer, { stdio: "ignore" }).on("error", () => undefined); // without `timeout` nobody writes
}

function symlinkTo(target, path) {
  try {
    symlinkSync(target, path);
  } catch {
    // The path exists from an earlier call, which is fine.
  }
}
