/**
 * `npm run torture -- [--minutes N] [--kills N] [--seed S] [--items N] [--engine sqlite|postgres] [--fault NAME]
 * [--workflow|--agents|--crowd|--bulk|--receipts|--read-ahead]`: a long torture run of one kind; the short ones run with the tests.
 * Default: a map with the faults of `torture/faults.mjs`; `--workflow`: a workflow in a git repository;
 * `--agents`: agents that cost, hang, fork and conflict; `--crowd`: many
 * processes on one store; `--bulk`: kills bulk operations; `--receipts`: kills a service that sends receipts; `--read-ahead`:
 * kills runners of short commands and their launchers; `--engine postgres`: queue
 * workers and their own server (`torture/chaos.mjs`). `npm run torture -- --campaign [--minutes N] [--strikes N] [--seed S]
 * [--kinds NAMES] [--lanes N]` runs all kinds in parallel and appends to `bench/TORTURE.md` (`--report FILE`).
 */
import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { tortureAgents } from "./torture/agents.mjs";
import { bulkKill } from "./torture/bulk-kill.mjs";
import { campaign } from "./torture/campaign.mjs";
import { KINDS } from "./torture/campaign-kinds.mjs";
import { appendReport } from "./torture/campaign-report.mjs";
import { chanceOf } from "./torture/chance.mjs";
import { chaos } from "./torture/chaos.mjs";
import { LONG_CHAOS_FAULTS, onlyChaosFault } from "./torture/chaos-faults.mjs";
import { crowd } from "./torture/crowd.mjs";
import { LONG_FAULTS, onlyFault } from "./torture/faults.mjs";
import { tortureReadAhead } from "./torture/read-ahead.mjs";
import { tortureReceipts } from "./torture/receipts.mjs";
import { torture } from "./torture/torture.mjs";
import { tortureWorkflow } from "./torture/workflow-torture.mjs";

const REPORT = fileURLToPath(new URL("TORTURE.md", import.meta.url));

const { values } = parseArgs({
  options: {
    minutes: { type: "string" },
    kills: { type: "string" },
    seed: { type: "string" },
    items: { type: "string" },
    engine: { type: "string", default: "sqlite" },
    fault: { type: "string" },
    workflow: { type: "boolean", default: false },
    agents: { type: "boolean", default: false },
    crowd: { type: "boolean", default: false },
    bulk: { type: "boolean", default: false },
    receipts: { type: "boolean", default: false },
    "read-ahead": { type: "boolean", default: false },
    campaign: { type: "boolean", default: false },
    strikes: { type: "string" },
    kinds: { type: "string" },
    lanes: { type: "string" },
    report: { type: "string", default: REPORT },
  },
});
const IS_CHAOS = values.engine === "postgres";
const DEFAULTS = values.agents
  ? { kills: 3, items: 200 }
  : values.workflow
    ? { kills: 40, items: 60 }
    : { kills: 150, items: 3000 };

process.exitCode = await main();

async function main() {
  if (!["sqlite", "postgres"].includes(values.engine))
    return refuse(`there is no engine ${values.engine} that processes can share`);
  if (IS_CHAOS && (values.workflow || values.crowd || values.bulk || values.receipts))
    return refuse("--workflow, --crowd, --bulk and --receipts are for the engine sqlite");
  const faults = faultsOf(values.fault);
  if (faults.length === 0) return refuse(`there is no fault ${values.fault}`);
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
  if (values.campaign) return runCampaign(seed);
  const minutes = values.minutes === undefined ? {} : { minutes: Number(values.minutes) };
  const items = Number(values.items ?? DEFAULTS.items);
  const kills = Number(values.kills ?? DEFAULTS.kills);
  const options = { seed, items, kills, ...minutes };
  if (Object.values(options).some((value) => !Number.isFinite(value) || value < 0))
    return refuse("options are numbers");
  console.log(`torture: seed ${seed}${IS_CHAOS ? "" : `, ${options.items} items`}`);
  const { violations, figures, home } = await run(options, faults);
  if (process.stderr.isTTY) process.stderr.write("\n");
  const told = Object.entries(figures).map(([name, figure]) => `${figure} ${name}`);
  console.log(`torture: seed ${seed}: ${told.join(", ")}; ${violations.length} violations`);
  if (violations.length === 0) return 0;
  console.error(violations.map((violation) => `  - ${violation}`).join("\n"));
  console.error(`The store, the ledger and what the runners said are in ${home}.`);
  return 1;
}

/** Prints violations as they occur, and writes the report at the end. */
async function runCampaign(seed) {
  const number = (text) => (text === undefined ? undefined : Number(text));
  const wishes = {
    minutes: number(values.minutes),
    strikes: number(values.strikes),
    lanes: number(values.lanes),
  };
  const kinds = values.kinds?.split(",");
  const unknown = kinds?.find((kind) => KINDS[kind] === undefined);
  if (unknown !== undefined) return refuse(`there is no kind ${unknown}: ${Object.keys(KINDS).join(", ")}`);
  if (Object.values(wishes).some((value) => value !== undefined && !(value > 0)))
    return refuse("options are numbers");
  console.log(`campaign: seed ${seed}`);
  const results = await campaign({
    ...{ seed, ...Object.fromEntries(Object.entries(wishes).filter(([, value]) => value !== undefined)) },
    ...(kinds && { kinds }),
    note: (line) => console.log(`campaign: ${line}`),
    onRound: ({ violations, home }) => {
      if (violations.length === 0) return;
      console.error(violations.map((violation) => `  - ${violation}`).join("\n"));
      console.error(`The store, the ledger and what the runners said are in ${home}.`);
    },
  });
  appendReport(values.report, { seed, results });
  const sum = (what) => results.reduce((total, result) => total + what(result), 0);
  const violations = sum((result) => result.violations.length);
  console.log(`campaign: seed ${seed}: ${sum(({ strikes }) => strikes)} strikes, ${violations} violations`);
  return violations === 0 ? 0 : 1;
}

function faultsOf(name) {
  if (IS_CHAOS) return name === undefined ? LONG_CHAOS_FAULTS : onlyChaosFault(name);
  return name === undefined ? LONG_FAULTS : onlyFault(name);
}

/** `--kills` is the number of rounds of a crowd, or of faults per bulk operation. */
function run(options, faults) {
  if (IS_CHAOS) return chaos({ ...options, faults, note: progress });
  const random = chanceOf(options.seed).random;
  const kills = values.kills === undefined ? 12 : options.kills;
  if (values.crowd) return crowd({ rounds: kills, itemsPerJob: 100, random, note: progress });
  if (values.bulk) return bulkKill({ letters: 5000, kills, random, note: progress });
  if (values.receipts)
    return tortureReceipts({
      receipts: options.items,
      kills: options.kills,
      seed: options.seed,
      note: progress,
    });
  if (values["read-ahead"]) return tortureReadAhead({ items: options.items, kills, random, note: progress });
  if (values.agents) return tortureAgents({ items: options.items, kills: options.kills, note: progress });
  if (values.workflow) return tortureWorkflow({ ...options, note: progress });
  return torture({ ...options, faults, note: progress });
}

function progress(line) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`);
}

function refuse(why) {
  console.error(`torture: ${why}`);
  return 2;
}
