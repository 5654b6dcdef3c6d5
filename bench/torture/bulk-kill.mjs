/**
 * Kills each bulk operation with `kill -9` several times, then finishes it with `redrive ops resume`. Checks in between and
 * at the end that every selected letter is done, refused or pending, that none is done twice, and that none is lost.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "../../dist/engine.js";
import { CLI } from "./crowd.mjs";

const JOB = "bulk";

/** Ordered so that each operation finds letters; the purge is last. */
const OPERATIONS = [
  { kind: "edit", words: ["dlq", "edit", "--job", JOB, "--set", "fixed=item.n", "--yes"] },
  { kind: "discard", words: ["dlq", "discard", "--job", JOB, "--reason", "for now", "--yes"] },
  { kind: "restore", words: ["dlq", "restore", "--job", JOB, "--yes"] },
  {
    kind: "redrive",
    words: [
      "dlq",
      "retry",
      JOB,
      "--filter",
      "item.n < SHARE",
      "--force",
      "--yes",
      "--quiet",
      "--parallel",
      "4",
    ],
  },
  { kind: "clear", words: ["dlq", "clear", JOB, "--yes"] },
  { kind: "purge", words: ["dlq", "purge", JOB, "--older-than", "0s", "--yes"] },
];

/** `letters` in total, `kills` per operation. Returns `{ violations, figures, home }`. */
export async function bulkKill({ letters = 1000, kills = 2, random = Math.random, note = () => undefined }) {
  const home = mkdtempSync(join(tmpdir(), "redrive-bulk-"));
  const world = {
    home,
    ledger: join(home, "ledger"),
    random,
    violations: [],
    killed: 0,
    letters,
    startMs: 400,
  };
  await makeLetters(world);
  const engine = await openStore(`sqlite:${join(home, "redrive.db")}`);
  world.queue = (await engine.findJob(JOB)).id;
  try {
    for (const operation of OPERATIONS) {
      note(operation.kind);
      await strike(world, engine, operation, kills);
    }
    await judgeWork(world, engine);
    world.attempts = (await engine.count(world.queue)).attempts;
  } finally {
    await engine.close();
  }
  if (world.violations.length === 0) rmSync(home, { recursive: true, force: true });
  return {
    violations: world.violations,
    home,
    figures: { letters, kills: world.killed, items: letters, attempts: world.attempts },
    faults: { killProcess: world.killed },
  };
}

/** Creates letters of items that fail until the file `go` exists, and that record each success. */
async function makeLetters(world) {
  const work = `test -f ${world.home}/go || { echo "error: not yet" >&2; exit 1; }; echo "$1" >> ${world.ledger}`;
  const input = Array.from({ length: world.letters }, (_, n) => JSON.stringify({ n })).join("\n");
  const words = ["map", "--name", JOB, "--retries", "0", "--jobs", "4", "--quiet"];
  const { code, stderr } = await run(world, [...words, "--", "sh", "-c", work, "work", "${item.n}"], input);
  if (code !== 3) world.violations.push(`map ended with ${code}: ${stderr}`);
  writeFileSync(join(world.home, "go"), "");
}

async function strike(world, engine, { kind, words }, kills) {
  const said = words.map((word) => word.replace("SHARE", `${String(Math.ceil(world.letters / 2))}.0`));
  const before = new Set((await engine.listOperations({})).map((operation) => operation.id));
  const made = async () =>
    (await engine.listOperations({})).filter((one) => one.kind === kind && !before.has(one.id));
  for (let fault = 0; fault < kills; fault += 1) {
    const [operation] = await made();
    if (operation !== undefined && operation.status === "ended") break;
    if (
      await killInTheMiddle(world, engine, {
        words: operation === undefined ? said : ["ops", "resume", operation.id],
        kind,
        before,
      })
    )
      world.killed += 1;
    await judgeBooks(world, engine, kind);
  }
  if ((await made()).length === 0) await run(world, said); // every kill came before the operation was recorded
  const open = (await engine.listOperations({ open: true })).filter((operation) => operation.kind === kind);
  for (const { id } of open) {
    const { code, stderr, stdout } = await run(world, ["ops", "resume", id, "--json"]);
    if (code !== 0 && code !== 3)
      world.violations.push(`ops resume of ${kind} ended with ${code}: ${stderr}${stdout}`);
  }
  const ended = await made();
  if (ended.length !== 1) world.violations.push(`${kind}: ${ended.length} operations were made, not one`);
  for (const one of ended) {
    if (one.status !== "ended") world.violations.push(`${kind} ${one.id} is ${one.status} after ops resume`);
    if (one.selected === 0) world.violations.push(`${kind} selected nothing`);
    if (one.done + one.refused !== one.selected) world.violations.push(`${kind}: ${JSON.stringify(one)}`);
  }
  await judgeBooks(world, engine, kind);
}

/** The longest delay between the record of a bulk operation and its kill. */
const MIDDLE_MS_MAX = 60;

/** Kills the command at a random moment after its operation was recorded; in a quarter of the cases at any moment. */
async function killInTheMiddle(world, engine, { words, kind, before }) {
  const child = spawn(process.execPath, [CLI, ...words], { env: environment(world), stdio: "ignore" });
  let isOver = false;
  const ended = new Promise((resolve) => child.once("close", (_code, signal) => resolve(signal)));
  void ended.then(() => (isOver = true));
  const isEarly = world.random() < 0.25;
  const isResumed = words[1] === "resume";
  const startMs = world.startMs * (isResumed ? 0.6 + 0.6 * world.random() : world.random());
  if (isEarly || isResumed) await Promise.race([sleep(startMs), ended]);
  const began = performance.now();
  while (!isOver && !isEarly && !isResumed) {
    const all = await engine.listOperations({});
    if (all.some((one) => one.kind === kind && !before.has(one.id))) break;
    await sleep(1);
  }
  if (!isEarly && !isResumed && !isOver) {
    world.startMs = performance.now() - began;
    await Promise.race([sleep(world.random() * MIDDLE_MS_MAX), ended]);
  }
  child.kill("SIGKILL");
  return (await ended) === "SIGKILL";
}

async function judgeBooks(world, engine, kind) {
  for (const problem of await engine.check())
    world.violations.push(`${kind}: ${problem.rule}: ${problem.detail}`);
  const counts = await engine.count(world.queue);
  if (counts.total !== world.letters)
    world.violations.push(`${kind}: ${counts.total} of ${world.letters} items are there`);
}

/** Checks that each redriven item succeeded once, in the store and in the record of the command. */
async function judgeWork(world, engine) {
  const counts = await engine.count(world.queue);
  const half = Math.ceil(world.letters / 2);
  if (counts.done !== half) world.violations.push(`${counts.done} items are done, ${half} were redriven`);
  // Half of them were cleared after they were resolved, half were purged.
  if (counts.purged !== world.letters) world.violations.push(`${counts.purged} letters were purged`);
  const lines = existsSync(world.ledger) ? readFileSync(world.ledger, "utf8").trim().split("\n") : [];
  const ran = new Set(lines);
  if (ran.size !== half)
    world.violations.push(`${ran.size} items wrote that they ran, ${half} were redriven`);
  const outside = [...ran].filter((n) => Number(n) >= half);
  if (outside.length > 0) world.violations.push(`items that were not selected ran: ${outside.slice(0, 5)}`);
}

function environment(world) {
  return { ...process.env, REDRIVE_HOME: world.home, REDRIVE_STORE: "", REDRIVE_CONFIG: "", NO_COLOR: "1" };
}

function run(world, words, input = "") {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [CLI, ...words], { env: environment(world), stdio: "pipe" });
    const told = { stdout: "", stderr: "" };
    child.stdout.on("data", (data) => (told.stdout += data));
    child.stderr.on("data", (data) => (told.stderr += data));
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, ...told }));
  });
}
