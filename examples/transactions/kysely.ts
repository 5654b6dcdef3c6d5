/** Adds an item in a transaction of Kysely: an order and the item that pays it are stored together, or not at all. */
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from "kysely";
import pg from "pg";
import { open } from "redrive";

interface Database {
  orders: { id: string; total: number };
}

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
const redrive = await open(process.env.REDRIVE_STORE); // in the same database
const payments = redrive.queue<{ total: number }>("payments");

/** What `add` needs of the transaction. */
function connectionOf(trx: Transaction<Database>) {
  return { query: (text: string, values: unknown[]) => trx.executeQuery(CompiledQuery.raw(text, values)) };
}

async function order(id: string, total: number) {
  await db.transaction().execute(async (trx) => {
    await trx.insertInto("orders").values({ id, total }).execute();
    await payments.add({ total }, { key: id, transaction: connectionOf(trx) });
    if (total < 0) throw new Error("an order has a positive total"); // rolls both back
  });
}

await order("4711", 120);
await order("4712", -1).catch((error: Error) => console.log(error.message));

const orders = await db.selectFrom("orders").selectAll().execute();
console.log(orders.length, "order,", (await payments.counts()).total, "item");
await redrive.close();
await db.destroy();
