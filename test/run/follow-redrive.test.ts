/** A redrive of a queue: the workers do the work, and whoever sent the letters follows it to its end. */
import { afterEach, describe, expect, it } from "vitest";
import type { Handler } from "../../src/attempt/handler.ts";
import { requireJob } from "../../src/queue/find-job.ts";
import { Worker } from "../../src/queue/worker.ts";
import type { RedrivePlan } from "../../src/redrive/plan.ts";
import { continueRedrive, detachLetters, retryLetters } from "../../src/run/retry.ts";
import { openQueueBench, QUEUE, type QueueBench } from "../queue/queue-kit.ts";
import { until } from "../support/until.ts";

const workers: Worker[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop();
});

/** Without the frames of whoever called it, which would make another failure of it. */
function failWith(message: string): never {
  throw Object.assign(new Error(message), { stack: `Error: ${message}` });
}

/** A worker that fails with the message that the function gives, and succeeds without one. */
function startWorker({ engine }: QueueBench, problem: (data: unknown) => string | undefined): void {
  const handler: Handler = async ({ data }) => {
    const message = problem(data);
    if (message !== undefined) failWith(message);
    return { kind: "succeeded" };
  };
  workers.push(new Worker(engine, QUEUE, { handler, concurrency: 2 }));
}

/** So many letters in a queue that tries once. */
async function lettersIn(count: number): Promise<QueueBench> {
  const bench = await openQueueBench({ maxRetries: 0 });
  await bench.add(...Array.from({ length: count }, (_, n) => ({ key: `k${n}`, data: n })));
  await bench.work(() => failWith("the other side is down"));
  return bench;
}

async function retry({ engine }: QueueBench, plan: RedrivePlan = {}, stop = new AbortController().signal) {
  const notices: string[] = [];
  const job = await requireJob(engine, QUEUE);
  const operation = await retryLetters(
    { engine, home: "/nowhere", stop },
    {
      job,
      selection: { filter: {} },
      author: "ann",
      force: true,
      plan,
      onNotice: (text) => notices.push(text),
    },
  );
  return { operation, notices };
}

describe("with a running worker", () => {
  it("all letters are processed by it, and the operation has ended", async () => {
    const bench = await lettersIn(5);
    startWorker(bench, () => undefined);
    await until("the worker is there", async () => (await bench.engine.listHolders()).length > 0);
    const { operation } = await retry(bench);
    expect(operation).toMatchObject({ status: "ended", selected: 5, succeeded: 5, failed: 0 });
    const letter = await bench.engine.readLetter((await bench.item("k0")).ref);
    expect(letter).toMatchObject({ state: "done", resolution: { kind: "requeue", author: "ann" } });
  });

  it("a letter that fails again is the same letter with a longer history (pitfall 52)", async () => {
    const bench = await lettersIn(2);
    startWorker(bench, (data) => (data === 1 ? "another failure" : undefined));
    await until("the worker is there", async () => (await bench.engine.listHolders()).length > 0);
    const { operation } = await retry(bench);
    expect(operation).toMatchObject({ status: "ended", succeeded: 1, failed: 1 });
    const letter = await bench.engine.readLetter((await bench.item("k1")).ref);
    expect(letter).toMatchObject({ state: "dead", itemId: "k1", redriveCount: 1, failureCount: 2 });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ total: 2, dead: 1, letters: 1 });
  });

  it("a canary follows the worker's outcomes: the rest stays if the failure returns", async () => {
    const bench = await lettersIn(20);
    startWorker(bench, () => "the other side is down");
    await until("the worker is there", async () => (await bench.engine.listHolders()).length > 0);
    const { operation } = await retry(bench, { canary: true });
    expect(operation).toMatchObject({ status: "ended", failed: 1, refused: 19 });
    expect(operation.progress).toHaveProperty("stopped_by");
  });

  it("a canary continues to all if it succeeds", async () => {
    const bench = await lettersIn(20);
    startWorker(bench, () => undefined);
    await until("the worker is there", async () => (await bench.engine.listHolders()).length > 0);
    const { operation, notices } = await retry(bench, { canary: true });
    expect(operation).toMatchObject({ status: "ended", succeeded: 20, refused: 0 });
    expect(notices.join("\n")).toMatch(/stage 4/);
  });

  it("a redrive that is stopped leaves the rest, and another process continues it", async () => {
    const bench = await lettersIn(4);
    startWorker(bench, () => undefined);
    await until("the worker is there", async () => (await bench.engine.listHolders()).length > 0);
    const stop = new AbortController();
    const following = retry(bench, { rate: { letters: 1, perMs: 3_600_000 } }, stop.signal);
    await until("the first was done", async () => (await bench.engine.count(QUEUE)).done === 1);
    stop.abort();
    const { operation: left } = await following;
    expect(left).toMatchObject({ status: "open", succeeded: 1 });
    const faster = { ...left, plan: {} };
    const deps = { engine: bench.engine, home: "/nowhere", stop: new AbortController().signal };
    expect(await continueRedrive(deps, faster)).toMatchObject({ status: "ended", succeeded: 4 });
  });
});

describe("with a worker of a paused queue", () => {
  it("the reason for the wait is reported, and the redrive continues with the queue", async () => {
    const bench = await lettersIn(1);
    startWorker(bench, () => undefined);
    await until("the worker is there", async () => (await bench.engine.listHolders()).length > 0);
    await bench.engine.changeJob(QUEUE, { pause: { author: "ann", reason: "" } });
    const job = await requireJob(bench.engine, QUEUE);
    const notices: string[] = [];
    const following = retryLetters(
      { engine: bench.engine, home: "/nowhere", stop: new AbortController().signal },
      { job, selection: { filter: {} }, author: "ann", force: true, onNotice: (text) => notices.push(text) },
    );
    await until("it was told", () => notices.some((text) => text.includes(`redrive queue resume ${QUEUE}`)));
    await bench.engine.changeJob(QUEUE, { pause: null });
    expect(await following).toMatchObject({ status: "ended", succeeded: 1 });
  });
});

describe("without a worker", () => {
  it("the letters are ready, the command that starts a worker is reported, and nobody waits", async () => {
    const bench = await lettersIn(3);
    const { operation, notices } = await retry(bench);
    expect(operation).toMatchObject({ status: "open", selected: 3, done: 3, succeeded: 0 });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ ready: 3, dead: 0, letters: 3 });
    expect(notices.join("\n")).toContain(`redrive worker --queue ${QUEUE} -- COMMAND`);
  });

  it("a canary sends nothing, because no outcome would be reported", async () => {
    const bench = await lettersIn(3);
    const { operation, notices } = await retry(bench, { canary: true });
    expect(operation).toMatchObject({ status: "open", done: 0 });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ dead: 3 });
    expect(notices.join("\n")).toContain(`redrive ops resume ${operation.id}`);
  });

  it("a later worker processes what was sent, and the operation ends", async () => {
    const bench = await lettersIn(2);
    const job = await requireJob(bench.engine, QUEUE);
    const sent = await detachLetters(bench.engine, {
      job,
      selection: { filter: {} },
      author: "ann",
      force: true,
    });
    expect(sent).toMatchObject({ status: "open", done: 2 });
    startWorker(bench, () => undefined);
    await until("both are done", async () => (await bench.engine.count(QUEUE)).done === 2);
    for (const worker of workers.splice(0)) await worker.stop();
    expect(await bench.engine.findOperation(sent.id)).toMatchObject({ status: "ended", succeeded: 2 });
  });
});
