/** Groups and the people who look after them. */
import { expect, test } from "vitest";
import { assignGroups } from "../../src/redrive/assignees.ts";
import { rebuildGroups } from "../../src/redrive/correct-groups.ts";
import { groupToJson, listGroups, viewGroup } from "../../src/redrive/groups.ts";
import { A, B, C, GroupKit } from "./group-kit.ts";

const OPEN = { states: ["open"] } as const;
const DEATHS = { i1: { signature: A }, i2: { signature: B }, i3: { signature: C } };

async function assigned() {
  const kit = new GroupKit();
  await kit.bury(DEATHS);
  await assignGroups(kit.engine, [{ signature: A }, { signature: B }], { assignee: "ann", author: "bob" });
  return kit;
}

test("a list and a group show the assignee, and a list is limited to one person", async () => {
  const kit = await assigned();
  const of = ({ groups }: Awaited<ReturnType<typeof listGroups>>) =>
    Object.fromEntries(groups.map(({ signature, assignee }) => [signature, assignee]));
  expect(of(await listGroups(kit.engine, OPEN))).toEqual({ [A]: "ann", [B]: "ann", [C]: undefined });
  const mine = await listGroups(kit.engine, { ...OPEN, assignee: "ann" });
  expect(of(mine)).toEqual({ [A]: "ann", [B]: "ann" });
  expect(mine.total).toBe(2);
  expect((await listGroups(kit.engine, { ...OPEN, assignee: "ANN" })).groups).toEqual([]);
  const { group } = await viewGroup(kit.engine, await kit.record(A));
  expect(groupToJson(group, [])).toMatchObject({ assignee: "ann" });
});

test("an assignee is replaced and removed, and each change has an author", async () => {
  const kit = await assigned();
  await assignGroups(kit.engine, [{ signature: A }], { assignee: "cleo", author: "dan" });
  await assignGroups(kit.engine, [{ signature: B }], { assignee: null, author: "eve" });
  await assignGroups(kit.engine, [{ signature: B }], { assignee: null, author: "nobody sees this" });
  const { groups } = await listGroups(kit.engine, OPEN);
  expect(groups.map(({ assignee }) => assignee).sort()).toEqual(["cleo", undefined, undefined]);
  const events = await kit.engine.listEvents({ after: 0, types: ["change_recorded"], limit: 10 });
  expect(events.map(({ data }) => data)).toMatchObject([
    { author: "bob", action: "groups_assigned", details: { groups: [A, B], assignee: "ann" } },
    { author: "dan", details: { groups: [A], assignee: "cleo" } },
    { author: "eve", details: { groups: [B], assignee: null } },
  ]);
});

test("a rebuild carries the assignee to the group that the letters move to", async () => {
  const kit = new GroupKit();
  await kit.bury({ i1: { signature: A, message: "disk full", algorithm: "redrive-0" } });
  await assignGroups(kit.engine, [{ signature: A }], { assignee: "ann", author: "bob" });
  await rebuildGroups(kit.engine, { rules: [] });
  const { groups } = await listGroups(kit.engine, OPEN);
  expect(groups).toMatchObject([{ assignee: "ann" }]);
  expect(groups[0]?.signature).not.toBe(A);
});
