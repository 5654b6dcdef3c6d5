/** The contract of groups: letters with the same failure, counted as they are buried and resolved. */
import { expect } from "vitest";
import { assert } from "../../src/std/assert.ts";
import { buried, retried, skipped, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

export function groupTests(test: Declare): void {
  const bury = async (bench: Workbench, itemId: string, signature: string) => {
    await bench.add(itemId);
    await bench.settle(buried(await bench.leaseOne(), { signature, pattern: `pattern of ${signature}` }));
  };
  const sizes = async (bench: Workbench) =>
    (await bench.engine.listGroups({ queue: QUEUE })).map(({ signature, count }) => [signature, count]);

  test("invariant 8: letters with one signature are one group", async (bench) => {
    await bench.registerHolder();
    const firstAt = bench.clock.now();
    await bury(bench, "a", "s1");
    bench.clock.advance(1000);
    await bury(bench, "b", "s1");
    expect(await bench.engine.listGroups({})).toEqual([
      {
        queue: QUEUE,
        signature: "s1",
        pattern: "pattern of s1",
        errorType: "CommandFailed",
        errorClass: "unknown",
        count: 2,
        firstAt,
        lastAt: firstAt + 1000,
        state: "open",
        isRegression: false,
        algorithm: "redrive-1",
      },
    ]);
  });

  test("the times of a group span its burials even if the clock was set back", async (bench) => {
    await bench.registerHolder();
    const lastAt = bench.clock.now();
    await bury(bench, "a", "s1");
    bench.clock.advance(-1000);
    await bench.add("b", "c");
    const [second, third] = await bench.lease(2);
    assert(second && third, "both are due");
    await bench.settle(buried(second, { signature: "s1" }), buried(third, { signature: "s1" }));
    expect(await bench.engine.listGroups({})).toMatchObject([{ count: 3, firstAt: lastAt - 1000, lastAt }]);
  });

  test("groups are listed by size, then by their last burial, then by signature", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a", "s4");
    bench.clock.advance(1000);
    for (const [itemId, signature] of [
      ["b", "s2"],
      ["c", "s1"],
      ["d", "s3"],
      ["e", "s3"],
    ] as const) {
      await bury(bench, itemId, signature);
    }
    const order = (await bench.engine.listGroups({})).map(({ signature }) => signature);
    expect(order).toEqual(["s3", "s1", "s2", "s4"]);
  });

  test("pages of groups list every signature once, largest first, over all queues", async (bench) => {
    await bench.registerHolder();
    const order = ["s3", "s3", "s1", "s2", "s4", "s2", "s2"];
    for (const [n, signature] of order.entries()) {
      bench.clock.advance(1000);
      await bury(bench, `item-${n}`, signature);
    }
    const author = "a person";
    await bench.engine.changeGroup("s4", { author, state: "ignored" });
    const states = ["open", "ignored"] as const;
    const seen: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await bench.engine.pageGroups({ states, limit: 2, ...(cursor && { cursor }) });
      expect(page.counts).toEqual({ open: 3, resolved: 0, ignored: 1 });
      expect(page.algorithms).toEqual([{ algorithm: "redrive-1", letters: 7 }]);
      expect(page.groups.map(({ signature }) => signature).sort()).toEqual([...page.signatures].sort());
      seen.push(...page.signatures);
      cursor = page.next;
    } while (cursor !== null);
    expect(seen).toEqual(["s2", "s3", "s4", "s1"]);
    for (const [order, first] of [
      ["last", "s2"],
      ["first", "s4"],
    ] as const)
      expect((await bench.engine.pageGroups({ states, order, limit: 1 })).signatures).toEqual([first]);
    const open = await bench.engine.pageGroups({ queue: QUEUE, states: ["open"], limit: 9 });
    expect([open.signatures, open.next]).toEqual([["s2", "s3", "s1"], null]);
    await expect(bench.engine.pageGroups({ states, limit: 1, cursor: "wrong" })).rejects.toMatchObject({
      code: "usage",
    });
  });

  test("resolved and ignored signatures without letters come last, and are not listed for a queue", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a", "s1");
    await bury(bench, "b", "s2");
    await bench.engine.changeGroup("s2", { author: "a person", state: "resolved" });
    await bench.engine.beginOperation({
      ...{ id: "op", kind: "purge", queue: QUEUE, filter: { signatures: ["s2"] }, force: false },
      ...{ author: "a person", plan: {} },
    });
    await bench.engine.advance("op", { max: 9 });
    const all = { states: ["open", "resolved", "ignored"], limit: 9 } as const;
    const page = await bench.engine.pageGroups(all);
    expect([page.signatures, page.groups.map(({ signature }) => signature)]).toEqual([["s1", "s2"], ["s1"]]);
    expect((await bench.engine.pageGroups({ ...all, queue: QUEUE })).signatures).toEqual(["s1"]);
  });

  test("two letters with one signature and different eligibility are one group", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a", "s1");
    await bench.add("b");
    const death = { signature: "s1", reprocessEligible: false, manualReviewRequired: true } as const;
    await bench.settle(buried(await bench.leaseOne(), death));
    expect(await sizes(bench)).toEqual([["s1", 2]]);
  });

  test("a group keeps the time of its first burial, whatever that letter's eligibility", async (bench) => {
    await bench.registerHolder();
    const firstAt = bench.clock.now();
    await bury(bench, "a", "s1");
    await bench.settle(succeeded(await bench.redriveOne("op-1", "a")));
    bench.clock.advance(1000);
    await bench.add("b");
    await bench.settle(buried(await bench.leaseOne(), { signature: "s1", reprocessEligible: false }));
    expect(await bench.engine.listGroups({})).toMatchObject([{ count: 1, firstAt, lastAt: firstAt + 1000 }]);
  });

  test("each queue has its own groups", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bury(bench, "a", "s1");
    await bench.engine.add("job-2", [{ itemId: "a", data: 2 }]);
    await bench.settle(buried(await bench.leaseOne("holder-1", "job-2"), { signature: "s1" }));
    expect(await sizes(bench)).toEqual([["s1", 1]]);
    expect((await bench.engine.listGroups({})).map(({ count }) => count)).toEqual([1, 1]);
  });

  test("a letter in retry still counts, and one that succeeded does not", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a", "s1");
    await bury(bench, "b", "s1");
    const lease = await bench.redriveOne("op-1", "a");
    expect(await sizes(bench)).toEqual([["s1", 2]]);
    await bench.settle(retried(lease));
    expect(await sizes(bench)).toEqual([["s1", 2]]);
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await sizes(bench)).toEqual([["s1", 1]]);
  });

  test("a group without letters is not listed, but keeps its first time", async (bench) => {
    await bench.registerHolder();
    const firstAt = bench.clock.now();
    await bury(bench, "a", "s1");
    await bench.settle(skipped(await bench.redriveOne("op-1", "a")));
    expect(await sizes(bench)).toEqual([]);
    bench.clock.advance(1000);
    await bury(bench, "b", "s1");
    expect(await bench.engine.listGroups({})).toMatchObject([{ count: 1, firstAt, lastAt: firstAt + 1000 }]);
  });

  test("a letter that dies of another failure moves to the other group", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a", "s1");
    bench.clock.advance(1000);
    await bench.settle(buried(await bench.redriveOne("op-1", "a"), { signature: "s2" }));
    expect(await sizes(bench)).toEqual([["s2", 1]]);
    await bench.settle(buried(await bench.redriveOne("op-2", "a"), { signature: "s2" }));
    expect(await sizes(bench)).toEqual([["s2", 1]]);
  });
}
