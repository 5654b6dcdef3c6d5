/** A queue with two workers in one program: some items succeed, some are retried, some become letters. */
import { BusinessException, ITException, open, type Task } from "redrive";

interface Invoice {
  readonly supplier: string;
  readonly vat: string | null;
  readonly total: number;
}

const redrive = await open();
const invoices = redrive.queue<Invoice, { paid: number }>("invoices", {
  retries: 1,
  backoff: "none",
  unique: "return",
});

await invoices.addMany([
  { key: "4711", data: { supplier: "Ace Paper", vat: "DE811907980", total: 120 } },
  { key: "4712", data: { supplier: "Bolt & Co", vat: null, total: 75 } },
  { key: "4713", data: { supplier: "Corner Cafe", vat: "IT07643520567", total: 18 }, priority: "high" },
  { key: "4714", data: { supplier: "Delta Freight", vat: "PT501442600", total: 990 } },
]);
const again = await invoices.add({ supplier: "Ace Paper", vat: null, total: 0 }, { key: "4711" });
console.log("4711 again:", again.outcome);

async function pay({ id, data, note }: Task<Invoice>) {
  if (!data.vat) throw new BusinessException(`${data.supplier} has no VAT id`, { subflow: "check" });
  if (data.total > 500) throw new ITException("the bank does not answer", { subflow: "transfer" });
  note(`paid to the account of ${data.supplier}`);
  console.log(id, "paid");
  return { paid: data.total };
}

// As many workers as you like, here, in other processes, or on other machines that share the store.
const workers = [1, 2].map((n) =>
  invoices.work(pay, { concurrency: 2, name: `robot ${n}`, untilEmpty: true }),
);
await Promise.all(workers.map((worker) => worker.ended));

const { done, dead } = await invoices.counts();
console.log(done, "done,", dead, "dead");
for await (const letter of invoices.letters({ order: "item" }))
  console.log(letter.id, letter.failureCount, letter.failures[0]?.message);
await redrive.close();
