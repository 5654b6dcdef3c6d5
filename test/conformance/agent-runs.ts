/** What agents used: kept per run, added up by attempt, item, group and queue. */
import { expect } from "vitest";
import type { AgentRun } from "../../src/item/agent-run.ts";
import type { Lease } from "../../src/item/item.ts";
import { buried, retried, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

function run(
  bench: Workbench,
  id: string,
  lease: Lease | undefined,
  usd: number,
  rest: Partial<AgentRun> = {},
) {
  const now = bench.clock.now();
  const times = { startedAt: now, updatedAt: now };
  const usage = { costUsd: usd, inputTokens: 10, outputTokens: 2, turns: 1 };
  return {
    id,
    ...(lease && { lease: { ref: lease.ref, attempt: lease.attempt } }),
    step: "step 1",
    agent: "claude",
    usage,
    isFinal: true,
    ...times,
    ...rest,
  };
}

const sums = async (bench: Workbench, ...query: Parameters<Workbench["engine"]["sumAgentUsage"]>) =>
  Object.fromEntries(
    (await bench.engine.sumAgentUsage(...query)).map(({ key, usage }) => [key, usage.costUsd]),
  );

export function agentRunTests(test: Declare): void {
  test("a later record of an agent run replaces the earlier one", async (bench) => {
    await bench.add("a");
    await bench.registerHolder();
    const lease = await bench.leaseOne();
    const { engine } = bench;
    const first = run(bench, "r1", lease, 0.1, { isFinal: false });
    await engine.writeAgentRuns(QUEUE, [first]);
    expect(await engine.listAgentRuns({ queue: QUEUE, limit: 9 })).toEqual([first]);
    bench.clock.advance(1000);
    const second = {
      ...run(bench, "r1", lease, 0.3, { session: "s-1" }),
      usage: {
        model: "m",
        costUsd: 0.3,
        inputTokens: 5_000_000_000,
        cachedTokens: 3,
        outputTokens: 4,
        turns: 5,
      },
      startedAt: first.startedAt,
    };
    await engine.writeAgentRuns(QUEUE, [second]);
    expect(await engine.listAgentRuns({ queue: QUEUE, ref: lease.ref, limit: 9 })).toEqual([
      { ...second, startedAt: first.startedAt },
    ]);
    expect(await engine.listAgentRuns({ queue: QUEUE, session: "s-1", limit: 9 })).toHaveLength(1);
    expect(await engine.listAgentRuns({ queue: QUEUE, session: "s-2", limit: 9 })).toEqual([]);
  });

  test("costs add up without rounding, whatever the outcomes of the attempts", async (bench) => {
    await bench.add("a", "b");
    await bench.registerHolder();
    const a1 = await bench.leaseOne();
    await bench.engine.writeAgentRuns(QUEUE, [run(bench, "r1", a1, 0.1), run(bench, "r2", a1, 0.2)]);
    await bench.settle(retried(a1));
    const a2 = await bench.leaseOne();
    const b1 = await bench.leaseOne();
    const [again, other] = a2.ref === a1.ref ? [a2, b1] : [b1, a2];
    await bench.engine.writeAgentRuns(QUEUE, [
      run(bench, "r3", again, 0.000000007),
      run(bench, "r4", other, 1),
      run(bench, "r5", undefined, 0.05),
    ]);
    await bench.settle(succeeded(again));
    await bench.settle(buried(other));
    const { ref } = a1;
    expect(await sums(bench, { by: "queue" })).toEqual({ [QUEUE]: 1.350000007 });
    expect(await sums(bench, { by: "queue", queues: ["none"] })).toEqual({});
    expect(await sums(bench, { by: "item", queue: QUEUE, refs: [ref] })).toEqual({ [ref]: 0.300000007 });
    expect(await sums(bench, { by: "attempt", ref })).toEqual({ 1: 0.3, 2: 0.000000007 });
    const [group] = await bench.engine.listGroups({ queue: QUEUE });
    const signatures = [group?.signature ?? "", "0000000000000000"];
    expect(await sums(bench, { by: "group", queue: QUEUE, signatures })).toEqual({
      [signatures[0] ?? ""]: 1,
    });
    expect(await sums(bench, { by: "group", signatures: signatures.slice(1) })).toEqual({});
    expect(await sums(bench, { by: "group", queue: "another", signatures })).toEqual({});
    const [all] = await bench.engine.sumAgentUsage({ by: "queue", queues: [QUEUE] });
    expect(all).toEqual({
      key: QUEUE,
      runs: 5,
      usage: { costUsd: 1.350000007, inputTokens: 50, outputTokens: 10, turns: 5 },
    });
  });

  test("an attempt that has lost its lease still reports its cost", async (bench) => {
    await bench.add("a");
    await bench.registerHolder();
    const lease = await bench.leaseOne();
    await bench.settle(retried(lease));
    await bench.engine.writeAgentRuns(QUEUE, [run(bench, "late", lease, 2)]);
    expect(await sums(bench, { by: "queue", queues: [QUEUE] })).toEqual({ [QUEUE]: 2 });
  });

  test("a purge keeps the recorded costs", async (bench) => {
    await bench.add("a");
    await bench.registerHolder();
    const lease = await bench.leaseOne();
    await bench.engine.writeAgentRuns(QUEUE, [run(bench, "r1", lease, 2)]);
    await bench.settle(buried(lease));
    await bench.operate("purge");
    expect(await sums(bench, { by: "queue", queues: [QUEUE] })).toEqual({ [QUEUE]: 2 });
    expect(await bench.engine.check()).toEqual([]);
  });
}
