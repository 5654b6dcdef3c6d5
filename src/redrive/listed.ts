/**
 * An operation on just the letters that are listed, by the number of their burial. Its filter matches nothing, so that
 * whoever goes on with one that was killed while it was being listed adds no letter that nobody has named.
 */
import type { Engine } from "../engine.ts";
import type { NewOperation, Operation } from "../item/operation.ts";
import { randomName } from "../kit/random.ts";

/** What is to be done with the letters. */
export type ListedRequest = Pick<NewOperation, "kind" | "queue" | "author" | "reason"> &
  Partial<Pick<NewOperation, "force" | "plan">>;

/** Begins it and adds every page. Letters that left meanwhile are left out. */
export async function beginListed(
  engine: Engine,
  { force = false, plan = {}, ...request }: ListedRequest,
  pages: AsyncIterable<readonly number[]>,
): Promise<Operation> {
  const { id } = await engine.beginOperation({
    ...request,
    id: `op-${randomName(8)}`,
    force,
    plan,
    filter: { queue: request.queue, itemIds: [] },
    selection: "enlisted",
  });
  for await (const burials of pages) await engine.enlist(id, { burials, cursor: "listed" });
  return engine.enlist(id, { burials: [], cursor: null });
}
