/**
 * Whether long runs keep their pace: a map of real commands, a retry of many letters, and many workers on one PostgreSQL queue.
 * Usage: node bench/linear.mjs [--items N] [--only map,retry,postgres]. Prints JSON: the rate of each tenth, by the ends of the
 * attempts in the store.
 */
import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DatabaseSync } from "@photostructure/sqlite";
import pg from "pg";
import { ENTRY, ended, percentile, say, startCli, timed, withFolder } from "./kit.mjs";
import { openLetterStore } from "./letter-store.mjs";

const POSTGRES = process.env.REDRIVE_BENCH_POSTGRES ?? "postgres://postgres@127.0.0.1:5432/test";
const SCHEMA = "bench_linear";
const TENTHS = 10;
const WORKERS = 16;
const { values } = parseArgs({
  options: {
    items: { type: "string", default: "200000" },
    only: { type: "string", default: "map,retry,postgres" },
    worker: { type: "string" },
  },
});
const ITEMS = Number(values.items);

const RUNS = { map, retry, postgres };

if (values.worker !== undefined) await workUntilEmpty(values.worker);
else
  for (const name of values.only.split(",")) {
    say(`  ${name}: ${ITEMS} items`);
    console.log(JSON.stringify({ run: name, items: ITEMS, ...(await withFolder(RUNS[name])) }));
  }

async function map(folder) {
  const input = join(folder, "items.txt");
  const file = createWriteStream(input);
  for (let from = 0; from < ITEMS; from += 10_000)
    file.write(
      Array.from({ length: Math.min(10_000, ITEMS - from) }, (_, n) => `item ${from + n}\n`).join(""),
    );
  await finished(file.end());
  const home = join(folder, "home");
  const command = ["map", "--input", input, "--jobs", "8", "--quiet", "--", "true", "{}"];
  const { wallMs } = await timed(() => ended(startCli(command, { REDRIVE_HOME: home }, folder)));
  return figures(wallMs, endsIn(home));
}

async function retry(folder) {
  const home = join(folder, "home");
  const made = await openLetterStore(`sqlite:${join(folder, "redrive.db")}`, {
    ...{ jobs: 1, letters: ITEMS, groups: 20 },
  });
  await made.engine.changeJob(made.jobs[0], { status: "completed", intakeComplete: true });
  await made.engine.close();
  const command = ["dlq", "retry", made.jobs[0], "--force", "--yes", "--quiet"];
  const env = { REDRIVE_HOME: home, REDRIVE_STORE: `sqlite:${join(folder, "redrive.db")}` };
  const { wallMs } = await timed(() => ended(startCli(command, env, folder)));
  return figures(wallMs, endsIn(folder, "WHERE outcome = 'succeeded'"));
}

function endsIn(folder, where = "") {
  const db = new DatabaseSync(join(folder, "redrive.db"), { readOnly: true });
  const ends = db.prepare(`SELECT ended_at FROM attempts ${where} ORDER BY ended_at`).all();
  db.close();
  return ends.map((row) => row.ended_at);
}

/** Workers are processes of their own, each with 8 functions at a time. */
async function postgres() {
  const client = new pg.Client({ connectionString: POSTGRES });
  await client.connect();
  await client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
  const url = `${POSTGRES}?schema=${SCHEMA}`;
  const { open } = await import(ENTRY);
  const redrive = await open(url);
  const queue = redrive.queue("linear", { retries: 0 });
  const adding = await timed(async () => {
    for (let from = 0; from < ITEMS; from += 5000)
      await queue.addMany(
        Array.from({ length: Math.min(5000, ITEMS - from) }, (_, n) => ({ data: { n: from + n } })),
      );
  });
  const args = [fileURLToPath(import.meta.url), "--worker", url];
  const start = () => spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  const { wallMs } = await timed(() => Promise.all(Array.from({ length: WORKERS }, () => ended(start()))));
  const { rows } = await client.query(`SELECT ended_at FROM ${SCHEMA}.attempts ORDER BY ended_at`);
  await redrive.close();
  await client.query(`DROP SCHEMA ${SCHEMA} CASCADE`);
  await client.end();
  const added = Math.round((ITEMS * 1000) / adding.wallMs);
  return {
    workers: WORKERS,
    added_per_second: added,
    ...figures(
      wallMs,
      rows.map((row) => Number(row.ended_at)),
    ),
  };
}

async function workUntilEmpty(url) {
  const { open } = await import(ENTRY);
  const redrive = await open(url);
  await redrive
    .queue("linear", { retries: 0 })
    .work(async () => undefined, { concurrency: 8, untilEmpty: true }).ended;
  await redrive.close();
}

function figures(wallMs, ends) {
  const size = Math.floor(ends.length / TENTHS);
  const rates = Array.from({ length: TENTHS }, (_, tenth) => {
    const [from, to] = [tenth * size, Math.min((tenth + 1) * size, ends.length - 1)];
    return Math.round(((to - from) * 1000) / Math.max(1, ends[to] - ends[from]));
  });
  return {
    ended: ends.length,
    per_second: Math.round((ends.length * 1000) / wallMs),
    per_second_in_tenths: rates,
    last_to_median: Number((rates.at(-1) / percentile(rates, 50)).toFixed(2)),
  };
}
