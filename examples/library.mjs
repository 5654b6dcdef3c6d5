/** Runs a function over items in parallel, and lists the ones that failed. */
import { DEFAULT_POLICY, openStore, parseBackoff, runQueue } from "redrive/engine";

const engine = await openStore(process.env.REDRIVE_STORE ?? "memory:");
await engine.createJob({ id: "roots", name: "roots", kind: "map", spec: {} });
await engine.add(
  "roots",
  [16, 25, -4].map((number) => ({ itemId: `n${number}`, data: number })),
);

await runQueue({
  engine,
  queue: "roots",
  policy: { ...DEFAULT_POLICY, maxAttempts: 2, backoff: parseBackoff("none") },
  slots: 2,
  stop: new AbortController().signal,
  handler: async ({ itemId, data }) => {
    if (data < 0) throw new RangeError(`${data} has no real root`);
    console.log(itemId, Math.sqrt(data));
    return { kind: "succeeded" };
  },
});

const { letters } = await engine.listLetters({ queue: "roots", limit: 10 });
for (const letter of letters) console.log(letter.itemId, letter.failureCount, letter.errorPattern);
await engine.close();
