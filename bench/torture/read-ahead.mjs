/**
 * Kills runners of short commands that are leased ahead, their launchers, or both with -9. Afterwards every item is done or
 * dead, nothing was lost that had not started, and every output is there.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DEFAULT_POLICY, openStore } from "../../dist/engine.js";
import { CLI } from "./crowd.mjs";
import { childrenOf, signal } from "./processes.mjs";

const JOB = "ahead";
const SLOTS = 4;
/** Every eleventh item fails. */
const FAILS_EACH = 11;
/** Every third item prints nothing, so that its success is complete without its runner. */
const SILENT_EACH = 3;
/** How many outputs are read with `redrive logs`. */
const LOGS_READ = 12;
const TARGETS = ["runner", "launcher", "both"];
/** The policy buries an item whose worker vanished so often while it ran. */
const { lossesMax: LOSSES_MAX } = DEFAULT_POLICY;

/** One line per start in the ledger, one line of output, and one line per end in the ledger of ends. */
const SCRIPT = [
  `echo "$1 $REDRIVE_ATTEMPT" >> "$TORTURE_LEDGER"`,
  `[ $(($1 % ${SILENT_EACH})) -eq 0 ] || echo "output of $1 $REDRIVE_ATTEMPT"`,
  `echo "$1 $REDRIVE_ATTEMPT" >> "$TORTURE_LEDGER.ends"`,
  `[ $(($1 % ${FAILS_EACH})) -ne 0 ]`,
].join("; ");

/** `options`: `items`, `kills`, `random`, `note`. Returns `{ violations, figures, home }`, as the other kinds do. */
export async function tortureReadAhead({ items, kills, random, note }) {
  const home = mkdtempSync(join(tmpdir(), "redrive-ahead-"));
  const run = startIn(home, items);
  const hits = {};
  const violations = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const target = TARGETS[kill % TARGETS.length];
    const runner = run(kill === 0 || random() < 0.5 ? "map" : "resume");
    await sleep(300 + random() * 900);
    const isHit = strike(runner.pid, target);
    await runner.ended;
    if (isHit) hits[target] = (hits[target] ?? 0) + 1;
    note?.(`kill ${kill + 1}: ${target}`);
  }
  const { code, printed } = await run("map").ended; // reads the rest of the input too
  if (code !== 0 && code !== 3)
    violations.push(`the last runner ended with ${code}: ${printed.slice(-1000)}`);
  const strikes = Object.values(hits).reduce((sum, count) => sum + count, 0);
  const { problems, figures } = await verify(home, { items, strikes, run });
  violations.push(...problems);
  if (violations.length === 0) rmSync(home, { recursive: true, force: true });
  return { violations, figures: { strikes, ...figures }, faults: hits, home };
}

function startIn(home, items) {
  const input = join(home, "input.txt");
  writeFileSync(input, Array.from({ length: items }, (_, n) => `${n + 1}\n`).join(""));
  writeFileSync(ledgerOf(home), "");
  writeFileSync(`${ledgerOf(home)}.ends`, "");
  const env = { ...process.env, REDRIVE_HOME: home, REDRIVE_STORE: "", REDRIVE_CONFIG: "", NO_COLOR: "1" };
  const mapWords = ["map", "--name", JOB, "--input", input, "-j", String(SLOTS), "--retries", "0", "--quiet"];
  const words = {
    map: [...mapWords, "--", "sh", "-c", SCRIPT, "sh", "{}"],
    resume: ["resume", JOB, "--no-dlq", "--quiet"],
  };
  return (command, ...more) => {
    const child = spawn(process.execPath, [CLI, ...(words[command] ?? [command]), ...more], {
      env: { ...env, TORTURE_LEDGER: ledgerOf(home) },
      cwd: home,
    });
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (printed += data));
    const ended = new Promise((resolve) => child.once("close", (code) => resolve({ code, printed })));
    return { pid: child.pid, ended };
  };
}

function ledgerOf(home) {
  return join(home, "ledger");
}

/** The launcher is two processes: a guard, and its child that starts the commands. Returns false if nothing was hit. */
function strike(runner, target) {
  const [guard = 0] = childrenOf(runner);
  const [server = 0] = guard === 0 ? [] : childrenOf(guard);
  if (target === "runner") return signal(runner, "SIGKILL") !== false;
  if (guard === 0) return signal(runner, "SIGKILL") !== false;
  signal(server, "SIGKILL");
  if (target === "both") signal(guard, "SIGKILL");
  return signal(runner, "SIGKILL") !== false;
}

async function verify(home, { items, strikes, run }) {
  const engine = await openStore(`sqlite:${join(home, "redrive.db")}`);
  try {
    const { id: queue } = await engine.findJob(JOB);
    const stored = await engine.findItems("", { queue, limit: 1_000_000 });
    const lines = readFileSync(ledgerOf(home), "utf8").trim().split("\n");
    const started = new Set(lines);
    const ends = new Set(
      readFileSync(`${ledgerOf(home)}.ends`, "utf8")
        .trim()
        .split("\n"),
    );
    const problems = (await engine.check()).map(({ rule, detail }) => `store check: ${rule}: ${detail}`);
    if (stored.length !== items)
      problems.push(`${items} items were in the input, ${stored.length} are stored`);
    if (started.size !== lines.length) problems.push("an attempt was started twice");
    const outcomes = {};
    let lostUnstarted = 0;
    let lostEnded = 0;
    let givenUp = 0;
    const succeeded = [];
    for (const item of stored) {
      const attempts = await engine.listAttempts(item.ref);
      const fails = Number(item.data) % FAILS_EACH === 0;
      const isGivenUp = attempts.filter(({ outcome }) => outcome === "lost").length >= LOSSES_MAX;
      if (isGivenUp) givenUp += 1;
      if (item.state !== (fails || isGivenUp ? "dead" : "done"))
        problems.push(`item ${item.data} is ${item.state}`);
      if (item.attemptsCounted > 1)
        problems.push(`item ${item.data} has spent ${item.attemptsCounted} attempts`);
      for (const attempt of attempts) {
        const { number, outcome } = attempt;
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        const hasStarted = started.delete(`${item.data} ${number}`);
        const hasEnded = ends.has(`${item.data} ${number}`);
        if (outcome === "lost" && !hasStarted) lostUnstarted += 1;
        if (outcome === "lost" && hasEnded) lostEnded += 1;
        if ((outcome === "succeeded" || outcome === "failed") && !hasEnded)
          problems.push(`item ${item.data} attempt ${number} ${outcome} and never ended`);
        if ((outcome === "succeeded" || outcome === "failed") && !hasStarted)
          problems.push(`item ${item.data} attempt ${number} ${outcome} and never started`);
        if (outcome === "failed") problems.push(...failedOutput(item, attempt));
        if (outcome === "succeeded") succeeded.push([item, number]);
      }
    }
    for (const start of started) problems.push(`the start "${start}" has no record`);
    // A command may be killed between its mark and its first line: at most as many as there are slots.
    if (lostUnstarted > strikes * SLOTS)
      problems.push(`${lostUnstarted} attempts are lost that never started, with ${strikes} kills`);
    // A launcher that is killed marks no more ends; one that lives marks all but those of the same moment.
    if (lostEnded > strikes * SLOTS)
      problems.push(`${lostEnded} attempts are lost that had ended, with ${strikes} kills`);
    problems.push(...(await successOutput(succeeded, run)));
    return {
      problems,
      figures: {
        ...{ items, starts: lines.length, ...outcomes },
        ...{ "lost before their first line": lostUnstarted, "lost after their last line": lostEnded },
        ...{ [`given up after ${LOSSES_MAX} kills`]: givenUp },
      },
    };
  } finally {
    await engine.close();
  }
}

function failedOutput({ data }, { number, log, failure }) {
  const text = outputOf(data, number);
  if (failure?.stdoutTail !== text)
    return [`the failure of ${data} has another output: ${failure?.stdoutTail}`];
  if (text === "") return [];
  return readFileSync(log ?? "/dev/null", "utf8").includes(text) ? [] : [`the log of ${data} is missing`];
}

function outputOf(data, number) {
  return Number(data) % SILENT_EACH === 0 ? "" : `output of ${data} ${number}\n`;
}

async function successOutput(succeeded, run) {
  const problems = [];
  const each = Math.max(1, Math.floor(succeeded.length / LOGS_READ));
  for (let at = 0; at < succeeded.length; at += each) {
    const [{ itemId, data }, number] = succeeded[at];
    const { printed } = await run("logs", JOB, itemId).ended;
    if (!printed.includes(outputOf(data, number))) problems.push(`redrive logs ${data}: ${printed}`);
  }
  return problems;
}
