/** Adds a file to a queue and runs it with a handler that does nothing, to measure the runner's own memory. */
import { LIBRARY } from "../kit.mjs";

const { url, input, slots } = JSON.parse(process.argv[2]);
const { DEFAULT_POLICY, openStore, readItems, runQueue } = await import(LIBRARY);

const QUEUE = "bench";
const engine = await openStore(url);
await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
const start = performance.now();
let intakeMs = 0;

await runQueue({
  engine,
  queue: QUEUE,
  policy: DEFAULT_POLICY,
  slots,
  stop: new AbortController().signal,
  handler: async () => ({ kind: "succeeded" }),
  feed: async function* (storeRetry) {
    for await (const batch of readItems({ path: input })) {
      const { added } = await storeRetry.run(() => engine.add(QUEUE, batch.items));
      yield added;
    }
    intakeMs = performance.now() - start;
  },
});
const wallMs = performance.now() - start;
const { done } = await engine.count(QUEUE);
await engine.close();
const { user, system } = process.cpuUsage();
const peakMb = process.resourceUsage().maxRSS / 1024;
console.log(JSON.stringify({ done, wallMs, intakeMs, cpuMs: (user + system) / 1000, peakMb }));
