/** Adds an item in a transaction of Drizzle: an order and the item that pays it are stored together, or not at all. */
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import pg from "pg";
import { open } from "redrive";

const orders = pgTable("orders", { id: text("id").primaryKey(), total: integer("total").notNull() });

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const db = drizzle(pool);
const redrive = await open(process.env.REDRIVE_STORE); // in the same database
const payments = redrive.queue<{ total: number }>("payments");

/** What `add` needs of the transaction: it puts the values into the places of `$1`, `$2` … */
function connectionOf(tx: Pick<typeof db, "execute">) {
  return {
    query: (statement: string, values: unknown[]) => {
      const query = sql.empty();
      for (const [index, part] of statement.split(/\$(\d+)/).entries())
        query.append(index % 2 === 0 ? sql.raw(part) : sql`${values[Number(part) - 1]}`);
      return tx.execute(query);
    },
  };
}

async function order(id: string, total: number) {
  await db.transaction(async (tx) => {
    await tx.insert(orders).values({ id, total });
    await payments.add({ total }, { key: id, transaction: connectionOf(tx) });
    if (total < 0) throw new Error("an order has a positive total"); // rolls both back
  });
}

await order("4711", 120);
await order("4712", -1).catch((error: Error) => console.log(error.message));

const stored = await db.select().from(orders);
console.log(stored.length, "order,", (await payments.counts()).total, "item");
await redrive.close();
await pool.end();
