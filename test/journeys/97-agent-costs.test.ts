/** Costs of agents: everything reported is counted, and budgets end attempts and jobs. */
import { chmodSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { until } from "../support/until.ts";
import { openFolder, type Project } from "./project.ts";
import { isAlive, SOUND } from "./workshop.ts";

const ITEMS = 20;
const KILLS_AT = [4, 10, 16];

/**
 * An agent that reports its cost in three lines. It links its standard output into a folder, so that the test reads exactly
 * what was written. By the item's number it succeeds, fails, hangs, leaves a child behind or exceeds its budget.
 */
const AGENT = `#!/bin/sh
ln "$(readlink /proc/$$/fd/1)" "$LEDGER/$1.$REDRIVE_ATTEMPT.$$"
echo $$ > "$LEDGER.pids/$$"
say() { printf '{"redrive":{"cost_usd":%s,"turns":%s,"input_tokens":%s}}\\n' "$1" "$2" "$3"; }
say "0.0$1" 1 100
[ $(($1 % 5)) = 3 ] && { sleep 300 & echo $! > "$LEDGER.pids/$!"; }
sleep 0.05
say "0.1$1" 2 200
[ $(($1 % 5)) = 4 ] && say 7.5 3 250 && sleep 300
[ $(($1 % 10)) = 2 ] && [ "$REDRIVE_ATTEMPT" = 1 ] && sleep 300
sleep 0.05
say "0.2$1" 3 300
[ $(($1 % 5)) = 1 ] && exit 3
exit 0
`;

function openCosts(): { project: Project; ledger: string } {
  const project = openFolder({ "agent.sh": AGENT });
  chmodSync(project.put("agent.sh", AGENT), 0o755);
  const ledger = project.path("agents");
  for (const folder of [ledger, `${ledger}.pids`]) mkdirSync(folder);
  return { project, ledger };
}

const workflow = (ledger: string, rest: object = {}) => ({
  name: "costs",
  env: { LEDGER: ledger },
  map: {
    input: { command: `seq 1 ${ITEMS}` },
    isolation: "none",
    max_parallel: 4,
    agent_template: [
      {
        agent: { command: ["./agent.sh", "${item}"], prompt: "go" },
        timeout: "4s",
      },
    ],
  },
  budget: { attempt: { usd: 5 } },
  error_policy: { retry_config: { max_attempts: 2, initial_delay: "1ms" } },
  ...rest,
});

interface Reported {
  readonly usage?: { readonly cost_usd?: number; readonly turns?: number; readonly input_tokens?: number };
  readonly status: string;
}

/** Adds up the last line that each agent has written. */
function sumOf(ledger: string): { cost: number; turns: number } {
  let [nano, turns] = [0, 0];
  for (const name of readdirSync(ledger)) {
    const text = readFileSync(`${ledger}/${name}`, "utf8");
    const last = text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1) ?? "";
    if (last === "") continue;
    const { redrive } = JSON.parse(last) as { redrive: { cost_usd: number; turns: number } };
    nano += Math.round(redrive.cost_usd * 1e9);
    turns += redrive.turns;
  }
  return { cost: nano / 1e9, turns };
}

it.runIf(process.platform === "linux")(
  "the totals are the sum of what the agents reported, after three kill -9 of the runner",
  { timeout: 120_000 },
  async () => {
    const { project, ledger } = openCosts();
    const file = project.workflow(workflow(ledger));
    let args = ["run", file, "-q"];
    for (const count of KILLS_AT) {
      const running = project.start(args, { ...project.here, stdin: "" });
      await until("some agents have run", () => readdirSync(ledger).length >= count);
      running.signal("SIGKILL");
      await running.ended;
      args = ["resume", "-q", "--no-dlq"];
    }
    const last = await project.do(...args, "--json");
    const summary = last.json<Reported & { succeeded: number; dead: number }>();
    expect(summary).toMatchObject({ status: "completed", succeeded: 12, dead: 8 });
    const { cost, turns } = sumOf(ledger);
    expect(cost).toBeGreaterThan(1);
    expect(summary.usage).toMatchObject({ cost_usd: cost, turns });
    const status = (await project.do("status", "--json")).json<Reported>();
    expect(status.usage).toEqual(summary.usage);
    const pids = readdirSync(`${ledger}.pids`).map(Number);
    await until("no process is left", () => !pids.some(isAlive));
    expect(await project.check()).toBe(SOUND);
  },
);

it("an attempt over its budget is ended, and its letter says so", async () => {
  const { project, ledger } = openCosts();
  const map = { ...workflow(ledger).map, input: { command: "echo 4" } };
  const result = await project.runWorkflow(workflow(ledger, { map }), ["-q"]);
  expect(result.code).toBe(3);
  const letter = (await project.do("dlq", "inspect", "4", "--json")).json<{
    failure_history: readonly { error_type: string; error_message: string }[];
    usage: { cost_usd: number };
    agent_runs: readonly { step: string; attempt_number: number }[];
  }>();
  expect(letter.failure_history).toHaveLength(1);
  expect(letter.failure_history[0]?.error_message).toContain(
    "over the budget of the attempt: $7.50 of $5.00",
  );
  expect(letter.usage.cost_usd).toBe(7.5);
  expect(letter.agent_runs).toMatchObject([{ step: "step 1", attempt_number: 1 }]);
});

it("a job over its budget starts no more items, finishes what runs, exits with 1 and resumes with more", async () => {
  const { project, ledger } = openCosts();
  const map = {
    ...workflow(ledger).map,
    input: { command: "printf '5\\n10\\n15\\n20\\n'" },
    max_parallel: 1,
  };
  const first = await project.runWorkflow(workflow(ledger, { map }), ["--json", "--budget", "0.3"]);
  expect(first.code).toBe(1);
  expect(first.json()).toMatchObject({ status: "stopped", succeeded: 2, remaining: 2 });
  const again = await project.do("resume", "--json");
  expect(again.code).toBe(1);
  expect(again.json()).toMatchObject({ status: "stopped", succeeded: 2, remaining: 2 });
  const more = await project.do("resume", "--json", "--budget", "usd=9,turns=1000");
  expect(more.code).toBe(0);
  expect(more.json()).toMatchObject({ status: "completed", succeeded: 4, usage: { turns: 12 } });
  const metrics = await project.do("jobs", "--json");
  expect(metrics.stdout).toContain('"usage"');
});

it("an invalid budget is refused", async () => {
  const { project, ledger } = openCosts();
  const result = await project.runWorkflow(workflow(ledger), ["--budget", "lots"]);
  expect(result.code).toBe(2);
  expect(result.stderr).toContain("usd=25");
});

it("another process sees what a running agent does and its cost so far", async () => {
  const { project, ledger } = openCosts();
  const line = '{"redrive":{"cost_usd":0.25,"action":"edit","target":"src/a.ts"}}';
  const script = `echo '${line}'; while [ ! -e $LEDGER/gate ]; do sleep 0.02; done`;
  const agent_template = [{ agent: { command: ["sh", "-c", script], prompt: "" } }];
  const map = { input: { command: "echo 1" }, isolation: "none", agent_template };
  const running = project.startWorkflow(workflow(ledger, { map, budget: { usd: 9 } }), ["-q"]);
  const status = async () => (await project.do("status", "--json")).json<{ running?: readonly object[] }>();
  await until("the agent has reported", async () => {
    const result = await project.do("status", "--json");
    return result.code === 0 && result.stdout.includes("src/a.ts");
  });
  expect((await status()).running).toMatchObject([
    { attempt_number: 1, progress: { action: "edit src/a.ts", usage: { cost_usd: 0.25 } } },
  ]);
  expect((await project.do("status")).stdout).toMatch(/^ {2}1 {2}.*edit src\/a.ts · \$0.25/m); // not the generated id
  project.write("agents/gate", "");
  expect((await running.ended).code).toBe(0);
});
