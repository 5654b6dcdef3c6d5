/**
 * A worker of `schedules.mjs`: `schedule-worker.mjs URL QUEUE CLOCK`. Works the queue, and with it the schedules of the store.
 * All processes read the time from the file CLOCK, as the processes of a machine share its clock. A line on stdin reports that
 * the time was moved. Prints `ready` once.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { open, TestClock } from "./library.mjs";

const [url, queueName, clockFile] = process.argv.slice(2);

/** The timers end when `set` is called. */
class SharedClock extends TestClock {
  now = () => Number(readFileSync(clockFile, "utf8"));
  monotonicNow = this.now;
  uptimeNow = this.now;
}

const clock = new SharedClock(Number(readFileSync(clockFile, "utf8")));
const redrive = await open(url, { clock });
const worker = redrive.queue(queueName).work(() => "done", { concurrency: 4 });
worker.on("error", (error) => {
  console.error(error);
  process.exit(1);
});
process.stdout.write("ready\n");
for await (const line of createInterface({ input: process.stdin })) clock.set(Number(line));
await redrive.close();
