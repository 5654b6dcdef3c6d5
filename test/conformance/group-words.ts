/** Helpers for the tests of groups. */
import type { GroupChange, GroupRecord } from "../../src/item/group.ts";
import { assert } from "../../src/std/assert.ts";
import { AUTHOR, type Workbench } from "./workbench.ts";

/** The group under test. */
export const GROUP = { signature: "s1", pattern: "pattern of s1" };

/** The group record of a known signature. */
export async function record(bench: Workbench, signature = "s1"): Promise<GroupRecord> {
  const found = await bench.engine.readGroup(signature);
  assert(found, `${signature} was seen`);
  return found;
}

/** The group events after the cursor, in short form. */
export async function told(bench: Workbench, after = 0): Promise<readonly unknown[]> {
  const types = ["group_opened", "group_reopened", "group_resolved", "group_changed"] as const;
  const events = await bench.engine.listEvents({ after, types, limit: 100 });
  return events.map(({ type, itemId, data }) => [type, itemId, data?.why ?? data?.signature]);
}

/** Changes the group as a person would. */
export function decide(bench: Workbench, change: Omit<GroupChange, "author">): Promise<GroupRecord> {
  return bench.engine.changeGroup("s1", { author: AUTHOR, ...change });
}
