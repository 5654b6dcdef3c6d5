/** What helped the letters of a group before, with the edits that were made: read from the mark and the operations. */
import type { Engine } from "../engine.ts";
import type { GroupFix } from "../item/group.ts";
import type { Operation } from "../item/operation.ts";

export interface KnownFix {
  readonly fix: GroupFix;
  /** The edit before the redrive, as long as its books are there. */
  readonly edit?: Operation;
}

/** In the order in which they are given. */
export async function readFixes(engine: Engine, fixes: readonly GroupFix[]): Promise<readonly KnownFix[]> {
  const known: KnownFix[] = [];
  for (const fix of fixes) {
    const edit = fix.editId === undefined ? null : await engine.findOperation(fix.editId);
    known.push(edit === null ? { fix } : { fix, edit });
  }
  return known;
}

/** The one that helped most letters; among equals the newest. */
export function bestFix<Fix extends Pick<GroupFix, "count">>(fixes: readonly Fix[]): Fix | undefined {
  return fixes.reduce<Fix | undefined>(
    (best, fix) => (best === undefined || fix.count > best.count ? fix : best),
    undefined,
  );
}
