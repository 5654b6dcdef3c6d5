/**
 * Fuzzes commands: random command lines from the definitions, with broken stores, servers and inputs. Commands run in this
 * process, one at a time. An error that would end the real process with a stack trace is a violation.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { chanceOf } from "../torture/chance.mjs";
import { writeInput } from "./broken-inputs.mjs";
import { STORES } from "./broken-stores.mjs";
import { drawCommand, leavesOf } from "./draw-command.mjs";
import { judge } from "./oracle.mjs";

/** Names in the valid store, which `prepare` creates. */
const NAMES = [
  "fuzz-map",
  "fuzz-map",
  "work",
  "work",
  "hook",
  "k1",
  "k2",
  "it-1",
  "a",
  "1",
  "nobody",
  "open",
  "setup",
];

/** Runs `runs` commands. `servers` are the addresses of broken servers, by name. Returns counts and every violation. */
export async function fuzzCommands({
  program,
  runs,
  seed,
  servers,
  patienceMs,
  deadlineMs,
  onRun = () => undefined,
}) {
  const folder = mkdtempSync(join(tmpdir(), "redrive-commands-"));
  const before = process.cwd();
  const guard = guardProcess();
  try {
    const sound = join(folder, "sound");
    await prepare(program, guard, sound);
    const { terminal } = terminalOf({ env: {}, cwd: folder, stdin: "" });
    const leaves = await everyLeaf((words) =>
      program.buildParser(words, { terminal, report: () => undefined }),
    );
    const report = { runs: 0, commands: new Set(), codes: {}, conditions: {}, violations: [] };
    for (let run = 0; run < runs; run++) {
      const chance = chanceOf(seed * 1_000_003 + run);
      const place = join(folder, `run-${run}`);
      const one = drawRun(chance, { leaves, sound, place, servers });
      process.chdir(one.cwd);
      const result = await runOnce(program, guard, one, { patienceMs, deadlineMs });
      process.chdir(before);
      report.runs += 1;
      report.commands.add(one.leaf);
      report.codes[result.code] = (report.codes[result.code] ?? 0) + 1;
      report.conditions[one.condition] = (report.conditions[one.condition] ?? 0) + 1;
      const what = judge({ ...result, words: one.words });
      const line = { run, condition: one.condition, words: one.words, code: result.code, what };
      if (what !== null) report.violations.push({ ...line, stderr: result.stderr.slice(-600) });
      onRun({ ...line, ms: result.ms });
      rmSync(place, { recursive: true, force: true });
    }
    return report;
  } finally {
    process.chdir(before);
    guard.restore();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A command group loads its commands only when it is named. */
async function everyLeaf(build) {
  const families = await build([]);
  const parsers = await Promise.all(families.commands.map((family) => build([family.name()])));
  const leaves = parsers.flatMap((parser) => leavesOf(parser));
  return [...new Map(leaves.map((leaf) => [leaf.words.join(" "), leaf])).values()];
}

function drawRun(chance, { leaves, sound, place, servers }) {
  const one = (list) => list[chance.between(0, list.length - 1)];
  const [home, cwd] = [join(place, "home"), join(place, "cwd")];
  mkdirSync(cwd, { recursive: true });
  cpSync(sound, home, { recursive: true });
  const env = { PATH: process.env.PATH, HOME: place, REDRIVE_HOME: home, NO_COLOR: "1" };
  let condition;
  if (servers.size > 0 && chance.random() < 0.2) {
    const [name, url] = one([...servers]);
    condition = `server: ${name}`;
    env.REDRIVE_STORE = url;
  } else {
    const name = chance.random() < 0.3 ? "sound" : one(Object.keys(STORES));
    condition = `store: ${name}`;
    Object.assign(env, STORES[name](home, chance));
  }
  if (chance.random() < 0.1) writeFileSync(join(cwd, "redrive.yml"), one(SETTINGS));
  let count = 0;
  const leaf = one(leaves);
  const words = drawCommand(leaf, {
    chance,
    names: NAMES,
    file: () => writeInput(join(cwd, `input-${++count}`), chance),
    storeUrl: () =>
      one([
        `sqlite:${home}/redrive.db`,
        `sqlite:${cwd}/new.db`,
        ...servers.values(),
        "memory:",
        "sqlite:",
        "x",
      ]),
  });
  const stdin = one(["", "one\ntwo\n", '{"a":1}\n', "[", "\0\xff", '[{"a":1}]', "y\n"]);
  return { leaf: leaf.words.join(" "), words, env, cwd, condition, stdin };
}

const SETTINGS = [
  "",
  "watch: 3\n",
  "[",
  "nonsense: 1\n",
  "watch:\n  rules: x\n",
  "\0",
  "dlq:\n  fixes:\n    - name: 1\n",
  "classify: []\n",
];

/** How long a command that was asked to stop may still run. */
const INSIST_MS = 10_000;

/** Runs the command to its end and asks it to stop if it takes too long. */
async function runOnce(program, guard, { words, env, cwd, stdin }, { patienceMs, deadlineMs }) {
  const io = terminalOf({ env, cwd, stdin });
  const began = performance.now();
  const crashed = guard.watch();
  const ended = program.runCli(words, io.terminal).then(
    (code) => ({ code }),
    (crash) => ({ crash: crash ?? new Error("rejected with nothing") }),
  );
  const asked = setTimeout(() => {
    guard.askToStop();
    again = setInterval(() => guard.askToStop(), INSIST_MS);
  }, patienceMs);
  let again;
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve({ isLate: true }), deadlineMs);
  });
  const result = await Promise.race([ended, crashed, late]);
  clearTimeout(asked);
  clearInterval(again);
  guard.forgetSignals();
  clearTimeout(timer);
  await new Promise((resolve) => setImmediate(resolve)); // unhandled rejections have been reported by now
  const crash = result.crash ?? guard.crash;
  return {
    ...result,
    ...(crash !== undefined && { crash }),
    stdout: io.stdout(),
    stderr: io.stderr(),
    ms: performance.now() - began,
  };
}

function terminalOf({ env, cwd, stdin }) {
  const [stdout, stderr] = [sink(), sink()];
  const input = Readable.from(stdin === "" ? [] : [Buffer.from(stdin, "latin1")]);
  const terminal = { version: "0", env, cwd, stdin: input, stdout: stdout.stream, stderr: stderr.stream };
  return { terminal, stdout: stdout.text, stderr: stderr.text };
}

function sink() {
  const stream = new PassThrough();
  const chunks = [];
  stream.on("data", (chunk) => chunks.push(chunk));
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"];

/** Catches what would end the process: unhandled errors and `process.exit`. */
function guardProcess() {
  let found;
  let tell = () => undefined;
  const caught = (error) => {
    found ??= error ?? new Error("nothing was thrown");
    tell({ crash: found });
  };
  const exit = process.exit;
  const ofSignals = new Map(SIGNALS.map((name) => [name, process.listeners(name)]));
  const kept = ["uncaughtException", "unhandledRejection"].map((name) => [name, process.listeners(name)]);
  for (const [name] of kept) process.removeAllListeners(name).on(name, caught);
  process.exit = (code) => tell({ code: code ?? 0, wasForced: true });
  return {
    get crash() {
      return found;
    },
    watch() {
      found = undefined;
      return new Promise((resolve) => {
        tell = resolve;
      });
    },
    askToStop: () => process.emit("SIGTERM", "SIGTERM"),
    /** Removes signal handlers, so that signals for the next command do not reach this one. */
    forgetSignals() {
      for (const name of SIGNALS)
        for (const listener of process.listeners(name))
          if (!ofSignals.get(name).includes(listener)) process.off(name, listener);
    },
    restore() {
      process.exit = exit;
      for (const [name, listeners] of kept) {
        process.off(name, caught);
        for (const listener of listeners) process.on(name, listener);
      }
    },
  };
}

/** Creates a store with a job and its letters, a queue with items, a target with a receipt, and an operation. */
async function prepare(program, guard, home) {
  mkdirSync(home, { recursive: true });
  const env = { PATH: process.env.PATH, HOME: home, REDRIVE_HOME: home, NO_COLOR: "1" };
  const steps = [
    [
      ["map", "--name", "fuzz-map", "--retries", "0", "-q", "--", "sh", "-c", "echo no >&2; exit 3"],
      "a\nb\nc\n",
    ],
    [["queue", "create", "work"], ""],
    [["queue", "add", "work", "--data", '{"a":1}', "--key", "it-1"], ""],
    [["queue", "add", "work", "--data", '{"a":2}', "--due", "1h"], ""],
    [["receipts", "target", "hook", "--url", "http://127.0.0.1:1/", "--retries", "0"], ""],
    [["receipts", "send", "hook", "--data", '{"a":1}', "--key", "k1", "--no-wait"], ""],
    [
      [
        "dlq",
        "discard",
        "--job",
        "fuzz-map",
        "--search",
        "no",
        "--reason",
        "x",
        "--yes",
        "--newer-than",
        "1h",
      ],
      "",
    ],
    [["dlq", "restore", "--job", "fuzz-map", "--state", "discarded", "--yes"], ""],
  ];
  for (const [words, stdin] of steps) {
    const { code, stderr, crash } = await runOnce(
      program,
      guard,
      { words, env, cwd: home, stdin },
      { patienceMs: 60_000, deadlineMs: 60_000 },
    );
    if (crash !== undefined || ![0, 3].includes(code))
      throw new Error(`${words.join(" ")}: ${code} ${stderr} ${crash?.stack ?? ""}`);
  }
}
