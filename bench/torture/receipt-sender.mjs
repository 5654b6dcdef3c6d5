/**
 * The service that is killed: sends receipts from a number on, and records each one after its durable acceptance. It runs
 * until all are delivered or it is killed.
 */
import { appendFileSync } from "node:fs";
import { open } from "../../dist/index.js";

const { store: url, target: settings, first, last, acks } = JSON.parse(process.argv[2]);
const redrive = await open(url);
const target = redrive.receipts("gate", settings);
await target.opened;
process.stdout.write("open\n");

const AT_ONCE = 20;
for (let from = first; from <= last; from += AT_ONCE) {
  const numbers = Array.from({ length: Math.min(AT_ONCE, last - from + 1) }, (_, index) => from + index);
  await Promise.all(numbers.map(send));
}
const { left } = await target.drain(600_000);
await redrive.close();
process.exitCode = left === 0 ? 0 : 3;

/** Every second receipt has its own key; the others are identified by their content. */
async function send(n) {
  const receipt = { lease_id: `l-${n % 7}`, task_id: `t-${n}`, n };
  await target.send(receipt, { wait: false, ...(n % 2 === 0 && { key: `k-${n}` }) });
  appendFileSync(acks, `${n}\n`);
}
