/** Records the failures of a program in a dead letter queue, groups them by cause, and retries them. */
import { DlqManager, openStore } from "redrive/engine";

const engine = await openStore(process.env.REDRIVE_STORE ?? "memory:");
let isShopOpen = false;

function totalOf(data: unknown): number {
  if (typeof data === "object" && data !== null && "total" in data) return Number(data.total);
  throw new TypeError("an order has a total");
}

const queue = await DlqManager.open(engine, {
  job: "orders",
  // Runs for each letter that is retried. An exception is one more failure of the same letter.
  handler: async ({ data }) => {
    if (!isShopOpen) throw new Error("connect ECONNREFUSED shop.example:443");
    const total = totalOf(data);
    if (total < 0) throw new RangeError(`a total of ${total} cannot be charged`);
    return { kind: "succeeded" };
  },
});

// 1. Record failures.
for (const total of [12, 8, -3]) {
  const item = { itemId: `order-${total}`, data: { total } };
  await queue.addFailedItem(item, { errorMessage: "connect ECONNREFUSED shop.example:443", durationMs: 30 });
}
// The same item fails again: the history of its letter grows.
await queue.addFailedItem({ itemId: "order-8", data: { total: 8 } }, { errorMessage: "read ECONNRESET" });
const letter = await queue.getItem("order-8");
console.log(
  letter?.itemId,
  letter?.failureHistory.map((failure) => failure.errorMessage),
);

// 2. Group the failures by cause.
const { totalItems, patternGroups } = await queue.analyzePatterns();
console.log(totalItems, "letters in", patternGroups.length, "groups");

// 3. The cause is fixed: retry one letter, then the rest.
isShopOpen = true;
const first = await queue.reprocessItems({ itemIds: ["order-12"], maxRetries: 0 });
console.log("first:", first.succeeded, "of", first.selected);
const rest = await queue.reprocessItems({ maxRetries: 0 });
console.log("rest:", rest.succeeded, "of", rest.selected, "and", rest.failed, "failed again");

// 4. List and export the remaining letters.
for (const { itemId, failureCount } of await queue.listItems()) console.log("left:", itemId, failureCount);
console.log("exported:", await queue.exportItems(process.argv[2] ?? "orders.json"));

// 5. Delete letters that are older than 30 days: there are none yet.
const lastMonth = new Date(Date.now() - 30 * 24 * 60 * 60 * 1000);
console.log("purged:", await queue.purgeOldItems(lastMonth));
await engine.close();
