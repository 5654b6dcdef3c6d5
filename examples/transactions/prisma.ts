/** Adds an item in a transaction of Prisma: an order and the item that pays it are stored together, or not at all. */
import { type Prisma, PrismaClient } from "@prisma/client";
import { open } from "redrive";

const prisma = new PrismaClient();
const redrive = await open(process.env.REDRIVE_STORE); // in the same database
const payments = redrive.queue<{ total: number }>("payments");

/** What `add` needs of the transaction. */
function connectionOf(tx: Prisma.TransactionClient) {
  return {
    query: async (text: string, values: unknown[]) => ({
      rows: await tx.$queryRawUnsafe<object[]>(text, ...values),
    }),
  };
}

async function order(id: string, total: number) {
  await prisma.$transaction(async (tx) => {
    await tx.order.create({ data: { id, total } });
    await payments.add({ total }, { key: id, transaction: connectionOf(tx) });
  });
}

await order("4711", 120);
await redrive.close();
await prisma.$disconnect();
