/**
 * A writer of `transactions.mjs`: `transaction-writer.mjs SERVER SCHEMA QUEUE SEED`. Runs random transactions until it is
 * killed, and prints `began NAME`, `committed NAME` and `rolled-back NAME`.
 */
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { chanceOf } from "./chance.mjs";
import { open } from "./library.mjs";

const [server, schema, queueName, seed] = process.argv.slice(2);
const chance = chanceOf(Number(seed));
const redrive = await open(`${server}?schema=${schema}`);
const queue = redrive.queue(queueName);
await queue.ready();
const pool = new pg.Pool({
  connectionString: server,
  max: 3,
  application_name: `writer ${process.pid}`,
});
pool.on("error", () => {}); // an idle connection was ended
pool.on("connect", (client) => client.on("error", () => {})); // reported by the query

await Promise.all([1, 2, 3].map((lane) => writeForever(lane)));

async function writeForever(lane) {
  for (let n = 1; ; n += 1) {
    try {
      await transact(`${seed}-${lane}-${n}`);
    } catch (error) {
      if (!isLoss(error)) print(`wrong ${seed}-${lane}-${n} ${error}`);
    }
  }
}

async function transact(name) {
  const client = await pool.connect();
  let isGood = false;
  try {
    print(`began ${name}`);
    await client.query("BEGIN");
    const ids = [];
    for (let adds = chance.between(1, 4); adds > 0; adds -= 1) {
      ids.push(...(await addSome(client, name, ids.length)));
      if (chance.random() < 0.3) await sleep(chance.between(0, 20));
    }
    await client.query("INSERT INTO orders VALUES ($1, $2)", [name, ids]);
    if (chance.random() < 0.4) {
      await rollBack(client);
      print(`rolled-back ${name}`);
    } else {
      await client.query("COMMIT");
      print(`committed ${name}`);
    }
    isGood = true;
  } finally {
    client.release(!isGood);
  }
}

/** One or several items, with generated or given keys, with an ordering key or without; sometimes a key again. */
async function addSome(client, name, already) {
  const items = Array.from({ length: chance.between(1, 3) }, (_, at) => ({
    data: { order: name, text: 'it\'s \\ $1 ?2 "quoted"' },
    ...(chance.random() < 0.6 && { key: `${name}-${already + at}` }),
    ...(chance.random() < 0.2 && { orderingKey: `customer-${chance.between(1, 5)}` }),
    ...(chance.random() < 0.2 && { priority: "high" }),
  }));
  const added = await queue.addMany(items, { transaction: client });
  const refused = added.find(({ outcome }) => outcome !== "added");
  if (isLoss(refused?.error)) throw refused.error;
  if (refused !== undefined) print(`wrong ${name}: ${refused.error}`);
  const [{ key } = {}] = items;
  if (key !== undefined && chance.random() < 0.3) {
    const again = await queue.add("again", { key, transaction: client }).catch((error) => error);
    if (isLoss(again)) throw again;
    if (again.code !== "item_exists")
      print(`wrong ${name}: ${key} was added twice: ${again.outcome ?? again}`);
  }
  return added.map(({ id }) => id);
}

/** By ROLLBACK, or by an error that aborts the transaction. */
async function rollBack(client) {
  if (chance.random() < 0.5) await client.query("SELECT 1 / 0").catch(() => {});
  await client.query("ROLLBACK");
}

/** The connection was ended; with lost locks in between, that shows in several ways. */
function isLoss(error) {
  const text = [error, error?.cause].map((one) => `${one?.code ?? ""} ${one?.message ?? ""}`).join(" ");
  return /57P01|store_unavailable|Connection terminated|ECONNRESET|not queryable|08006|08003/.test(text);
}

/** Synchronous, so that a line is never half written when the process is killed. */
function print(line) {
  writeSync(1, `${line}\n`);
}
