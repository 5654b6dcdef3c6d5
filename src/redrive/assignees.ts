/**
 * The assignees of groups. All are stored in one document, because they are few and every list of groups
 * reads them.
 */
import type { Engine } from "../engine.ts";
import type { GroupRecord } from "../item/group.ts";
import { isJsonObject, type Json } from "../std/json.ts";
import type { GroupSummary } from "./groups.ts";

const DOCUMENT = "group-assignees";

/** The assignees by the signatures of their groups. */
type Assignees = Readonly<Record<string, string>>;

interface Assignment {
  /** Null removes the assignee. */
  readonly assignee: string | null;
  readonly author: string;
}

/** Assigns groups to a person and records the change for the audit. Writes nothing if nothing changes. */
export async function assignGroups(
  engine: Engine,
  records: readonly Pick<GroupRecord, "signature">[],
  { assignee, author }: Assignment,
): Promise<void> {
  const signatures = records.map(({ signature }) => signature);
  for (;;) {
    const { version, assignees } = await readDocument(engine);
    const changed = signatures.filter((signature) => (assignees[signature] ?? null) !== assignee);
    if (changed.length === 0) return;
    const others = Object.entries(assignees).filter(([signature]) => !changed.includes(signature));
    const next = assignee === null ? [] : changed.map((signature) => [signature, assignee] as const);
    const change = { author, action: "groups_assigned", details: { groups: changed, assignee } };
    const body: Json = { assignees: Object.fromEntries([...others, ...next]) };
    if (await engine.writeDocument(DOCUMENT, { seen: version, body, change })) return;
  }
}

/** Adds its assignee to each group. */
export async function withAssignees(
  engine: Engine,
  groups: readonly GroupSummary[],
): Promise<readonly GroupSummary[]> {
  const { assignees } = await readDocument(engine);
  return groups.map((group) => {
    const assignee = assignees[group.signature];
    return assignee === undefined ? group : { ...group, assignee };
  });
}

/**
 * Copies the assignee of the groups that the letters came from, if they all have the same one and the new
 * group has none.
 */
export async function carryAssignee(engine: Engine, to: string, from: readonly string[]): Promise<void> {
  const { assignees } = await readDocument(engine);
  const [assignee, ...others] = new Set(from.map((signature) => assignees[signature]));
  if (assignee === undefined || others.length > 0 || assignees[to] !== undefined) return;
  await assignGroups(engine, [{ signature: to }], { assignee, author: "redrive" });
}

async function readDocument(
  engine: Engine,
): Promise<{ readonly version: number; readonly assignees: Assignees }> {
  const document = await engine.readDocument(DOCUMENT);
  const found = isJsonObject(document?.body) ? document.body.assignees : undefined;
  return { version: document?.version ?? 0, assignees: isJsonObject(found) ? (found as Assignees) : {} };
}
