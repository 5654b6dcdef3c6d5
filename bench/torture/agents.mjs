/**
 * Tortures the runner of a workflow with agents that cost, hang, fork, conflict, exceed their budget, break the combined state and
 * are killed: the runner is killed several times. At the end the totals are the sum of what the agents reported, each item is
 * merged once and only after it was verified, and no process is left.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Arena } from "./arena.mjs";
import { markedProcesses } from "./processes.mjs";
import { git } from "./workflow-items.mjs";

/**
 * Reports its cost in three lines, a different one for each item. It links its standard output into the ledger, so that the
 * judge reads exactly what was written. What else it does depends on the last digit of the item.
 */
const AGENT = `#!/bin/sh
ln "$(readlink /proc/$$/fd/1)" "$LEDGER/$1.$REDRIVE_ATTEMPT.$$"
n=$(expr "$1" + 0)
say() { printf '{"redrive":{"cost_usd":%s,"turns":%s,"input_tokens":%s}}\\n' "$1" "$2" "$3"; }
say "0.0$1" 1 "1$1"
kind=$((n % 10))
[ $kind = 3 ] && { sleep 300 & setsid sleep 300 & }
echo "$1" > "file-$1.txt"
[ $kind = 5 ] && [ "$REDRIVE_ATTEMPT" -le 2 ] && echo "$1" > shared.txt
[ $kind = 7 ] && [ "$REDRIVE_ATTEMPT" = 1 ] && echo "$1" > "broken-$1.txt"
say "0.1$1" 2 "2$1"
[ $kind = 4 ] && say 7.53 3 "3$1" && sleep 300
[ $kind = 2 ] && [ "$REDRIVE_ATTEMPT" = 1 ] && sleep 300
[ $kind = 6 ] && [ "$REDRIVE_ATTEMPT" = 1 ] && kill -9 $$
sleep 0.05
say "0.2$1" 3 "3$1"
[ $kind = 1 ] && exit 3
git add -A
git commit -q -m "work of $1"
`;

const LIMIT_MS = 20 * 60_000;

/** `options`: `items`, `kills`, `note`. */
export async function tortureAgents({ items, kills, note }) {
  const arena = new Arena();
  const violations = [];
  const ledger = join(realpathSync(arena.home), "agents");
  try {
    const project = prepare(arena, { items, ledger });
    arena.cwd = project;
    const until = Date.now() + LIMIT_MS;
    let args = ["run", "workflow.json", "--quiet"];
    for (let kill = 1; kill <= kills; kill += 1) {
      const runner = arena.start(args);
      const wanted = Math.floor((items * kill) / (kills + 1));
      while (readdirSync(ledger).length < wanted && !runner.isOver && Date.now() < until) await sleep(20);
      note?.(`kill ${kill} after ${readdirSync(ledger).length} agents`);
      if (!runner.isOver) arena.hit("kill -9");
      runner.child.kill("SIGKILL");
      await runner.ended;
      args = ["resume", "costs", "--no-dlq", "--quiet"];
    }
    const { code, said } = await arena.start(args).ended;
    if (code !== 3) violations.push(`the last runner ended with ${code}: ${said}`);
    const figures = await judgeAgents(arena, { items, ledger, violations });
    return {
      violations,
      figures: { strikes: arena.strikes, ...figures },
      faults: arena.hits,
      home: arena.home,
    };
  } catch (error) {
    violations.push(`the torture itself broke: ${error.stack}`);
    return { violations, figures: {}, faults: arena.hits, home: arena.home };
  } finally {
    arena.tidy({ keep: violations.length > 0 });
  }
}

function prepare(arena, { items, ledger }) {
  const project = join(realpathSync(arena.home), "project");
  for (const folder of [ledger, project]) mkdirSync(folder);
  git(project, "init", "-q", "-b", "main");
  git(project, "config", "user.name", "Tess Ter");
  git(project, "config", "user.email", "tess@example.org");
  writeFileSync(join(project, "agent.sh"), AGENT);
  chmodSync(join(project, "agent.sh"), 0o755);
  const width = String(items).length;
  const workflow = {
    name: "costs",
    env: { LEDGER: ledger },
    map: {
      input: { command: `seq -f %0${width}.0f 1 ${items}` },
      max_parallel: 6,
      agent_template: [{ agent: { command: ["./agent.sh", "${item}"], prompt: "go" }, timeout: "6s" }],
    },
    verify: [{ shell: "ls broken-* 2>/dev/null && exit 1; git rev-parse HEAD >> $LEDGER.verified" }],
    budget: { attempt: { usd: 5 } },
    error_policy: { retry_config: { max_attempts: 6, initial_delay: "1ms" } },
  };
  writeFileSync(join(project, "workflow.json"), JSON.stringify(workflow));
  git(project, "add", "-A");
  git(project, "commit", "-q", "-m", "first");
  return project;
}

async function judgeAgents(arena, { items, ledger, violations }) {
  const told = sumOf(ledger);
  const summary = arena.ask("status", "costs");
  const { usage = {} } = summary;
  for (const [what, expected, found] of [
    ["dollars", told.cost, usage.cost_usd],
    ["turns", told.turns, usage.turns],
    ["input tokens", told.tokens, usage.input_tokens],
    ["dollars of all items", told.cost, await costOfItems(arena)],
    ["items", items, summary.total],
    // Items whose agent always fails or exceeds its budget are letters; all others succeed.
    ["letters", 2 * Math.floor(items / 10), summary.dead],
    ["successes", items - 2 * Math.floor(items / 10), summary.succeeded],
  ])
    if (expected !== found) violations.push(`${what}: ${expected} expected, ${found} found`);
  const files = git(arena.cwd, "ls-tree", "--name-only", "HEAD").split("\n");
  const merged = files.filter((name) => name.startsWith("file-")).length;
  if (merged !== summary.succeeded) violations.push(`${merged} files are merged, of ${summary.succeeded}`);
  violations.push(...judgeMerges(arena.cwd, { files, verified: `${ledger}.verified` }));
  const left = markedProcesses(arena.mark);
  if (left.length > 0) violations.push(`${left.length} processes are left: ${JSON.stringify(left)}`);
  return { items, agents: told.agents, dollars: told.cost, dead: summary.dead };
}

/** No commit of the job's branch breaks the state, none has an item twice, and the last one has passed. */
function judgeMerges(project, { files, verified }) {
  const violations = files.filter((name) => name.startsWith("broken-")).map((name) => `${name} is merged`);
  const ids = git(project, "log", "--format=%(trailers:key=Redrive-Item,valueonly)", "HEAD")
    .split("\n")
    .filter(Boolean);
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
  if (twice.length > 0) violations.push(`items are merged twice: ${twice.join(", ")}`);
  const passed = readFileSync(verified, "utf8").split("\n");
  const tip = git(project, "rev-parse", "HEAD^2"); // the job's branch, below the final merge
  if (!passed.includes(tip)) violations.push(`the tip ${tip} of the job's branch was never verified`);
  return violations;
}

async function costOfItems(arena) {
  let nano = 0;
  for (let cursor; ; ) {
    const page = arena.ask(
      "items",
      "costs",
      "--limit",
      "1000",
      ...(cursor ? ["--cursor", String(cursor)] : []),
    );
    for (const { usage } of page.items) nano += Math.round((usage?.cost_usd ?? 0) * 1e9);
    cursor = page.next;
    if (!cursor) return nano / 1e9;
  }
}

/** Adds up the last whole line that each agent has written. */
function sumOf(ledger) {
  let [nano, turns, tokens] = [0, 0, 0];
  const names = readdirSync(ledger);
  for (const name of names) {
    const text = readFileSync(join(ledger, name), "utf8");
    const last = text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1) ?? "";
    if (last === "") continue;
    const { redrive } = JSON.parse(last);
    nano += Math.round(redrive.cost_usd * 1e9);
    turns += redrive.turns;
    tokens += redrive.input_tokens;
  }
  return { agents: names.length, cost: nano / 1e9, turns, tokens };
}
