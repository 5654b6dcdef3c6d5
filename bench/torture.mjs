/**
 * `npm run torture -- [--minutes N] [--kills N] [--seed S] [--items N] [--engine sqlite|postgres] [--blow NAME] [--workflow|--crowd|--bulk|--receipts]`:
 * the long form. The blows are in `torture/blows.mjs`; `--workflow` strikes at a workflow in a git repository instead of a
 * map, `--crowd` lets many processes work on one store at once, `--bulk` kills operations on many letters in their
 * middle, `--receipts` kills a service that sends receipts. `--engine postgres` strikes at the workers of queues and at a server of its own (`torture/chaos.mjs`). The short
 * forms run with the tests.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { LONG_BLOWS, onlyBlow } from "./torture/blows.mjs";
import { bulkKill } from "./torture/bulk-kill.mjs";
import { chanceOf } from "./torture/chance.mjs";
import { chaos } from "./torture/chaos.mjs";
import { LONG_STRIKES, onlyStrike } from "./torture/chaos-strikes.mjs";
import { crowd } from "./torture/crowd.mjs";
import { tortureReceipts } from "./torture/receipts.mjs";
import { torture } from "./torture/torture.mjs";
import { tortureWorkflow } from "./torture/workflow-torture.mjs";

const { values } = parseArgs({
  options: {
    minutes: { type: "string" },
    kills: { type: "string" },
    seed: { type: "string" },
    items: { type: "string" },
    engine: { type: "string", default: "sqlite" },
    blow: { type: "string" },
    workflow: { type: "boolean", default: false },
    crowd: { type: "boolean", default: false },
    bulk: { type: "boolean", default: false },
    receipts: { type: "boolean", default: false },
  },
});
const IS_CHAOS = values.engine === "postgres";
const DEFAULTS = values.workflow ? { kills: 40, items: 60 } : { kills: 150, items: 3000 };

process.exitCode = await main();

async function main() {
  if (!["sqlite", "postgres"].includes(values.engine))
    return refuse(`there is no engine ${values.engine} that processes can share`);
  if (IS_CHAOS && (values.workflow || values.crowd || values.bulk || values.receipts))
    return refuse("--workflow, --crowd, --bulk and --receipts are for the engine sqlite");
  const blows = blowsOf(values.blow);
  if (blows.length === 0) return refuse(`there is no blow ${values.blow}`);
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
  const minutes = values.minutes === undefined ? {} : { minutes: Number(values.minutes) };
  const items = Number(values.items ?? DEFAULTS.items);
  const kills = Number(values.kills ?? DEFAULTS.kills);
  const options = { seed, items, kills, ...minutes };
  if (Object.values(options).some((value) => !Number.isFinite(value) || value < 0))
    return refuse("options are numbers");
  console.log(`torture: seed ${seed}${IS_CHAOS ? "" : `, ${options.items} items`}`);
  const { violations, figures, home } = await run(options, blows);
  if (process.stderr.isTTY) process.stderr.write("\n");
  const told = Object.entries(figures).map(([name, figure]) => `${figure} ${name}`);
  console.log(`torture: seed ${seed}: ${told.join(", ")}; ${violations.length} violations`);
  if (violations.length === 0) return 0;
  console.error(violations.map((violation) => `  - ${violation}`).join("\n"));
  console.error(`The store, the ledger and what the runners said are in ${home}.`);
  return 1;
}

function blowsOf(name) {
  if (IS_CHAOS) return name === undefined ? LONG_STRIKES : onlyStrike(name);
  return name === undefined ? LONG_BLOWS : onlyBlow(name);
}

/** `--kills` are the rounds of a crowd, and the blows at each operation. */
function run(options, blows) {
  if (IS_CHAOS) return chaos({ ...options, strikes: blows, note: progress });
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
  if (values.workflow) return tortureWorkflow({ ...options, note: progress });
  return torture({ ...options, blows, note: progress });
}

function progress(line) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`);
}

function refuse(why) {
  console.error(`torture: ${why}`);
  return 2;
}
