/** Redrive for `one-by-one.mjs`: the library as its guide shows it. */
import { open } from "../../dist/index.js";
import { countdown, PAYLOAD } from "./peers.mjs";

export async function openRedriveOneByOne(url) {
  const redrive = await open(url);
  let made = 0;
  let keys = 0;
  let queue;
  return {
    async begin() {
      made += 1;
      queue = redrive.queue(`one-${process.pid}-${made}`, { retries: 0 });
      await queue.ready();
    },
    async add(items) {
      for (let n = 0; n < items; n += 1) await queue.add(PAYLOAD(n));
    },
    async addKeyed(items) {
      for (let n = 0; n < items; n += 1) {
        keys += 1;
        await queue.add(PAYLOAD(n), { key: `key-${keys}` });
      }
    },
    async work(items, concurrency) {
      const { tick, done } = countdown(items);
      const worker = queue.work(async () => tick(), { concurrency });
      await done;
      await worker.drain();
    },
    close: () => redrive.close(),
  };
}
