/** A queue with two workers in one program: some items succeed, some are retried, some become letters. */
import { BusinessException, ITException, openStore, parseBackoff } from "redrive/engine";

const store = await openStore(process.env.REDRIVE_STORE ?? "memory:");
const queue = store.queue("invoices");
await queue.create({ maxRetries: 1, backoff: parseBackoff("none"), unique: "return" });

await queue.add([
  { key: "4711", data: { supplier: "Ace Paper", vat: "DE811907980", total: 120 } },
  { key: "4712", data: { supplier: "Bolt & Co", vat: null, total: 75 } },
  { key: "4713", data: { supplier: "Corner Cafe", vat: "IT07643520567", total: 18 }, priority: "high" },
  { key: "4714", data: { supplier: "Delta Freight", vat: "PT501442600", total: 990 } },
]);
const [again] = await queue.add({ key: "4711", data: { total: 0 } });
console.log("4711 again:", again.outcome);

async function pay({ itemId, data }, { note }) {
  if (!data.vat) throw new BusinessException(`${data.supplier} has no VAT id`, { subflow: "check" });
  if (data.total > 500) throw new ITException("the bank does not answer", { subflow: "transfer" });
  note(`paid to the account of ${data.supplier}`);
  console.log(itemId, "paid");
  return { paid: data.total };
}

// As many workers as you like, here, in other processes, or on other machines that share the store.
const workers = [1, 2].map((n) =>
  queue.process(pay, { concurrency: 2, name: `robot ${n}`, untilEmpty: true }),
);
await Promise.all(workers.map((worker) => worker.ended));

const { done, dead } = await queue.counts();
console.log(done, "done,", dead, "dead");
const { letters } = await store.listLetters({ queue: "invoices", order: "item", limit: 10 });
for (const letter of letters) {
  console.log(letter.itemId, letter.failureCount, letter.failureHistory[0].errorMessage);
}
await store.close();
