/** What letters still need of a job's worktrees. */
import type { Engine } from "../engine.ts";

/** Of a worktree's record. */
export interface KeptPlace {
  readonly itemId?: string | undefined;
  readonly branch: string | null;
}

/** Whether the item has a letter that names this very place; one of an earlier attempt is not needed any more. */
export async function isNamedByLetter(engine: Engine, queue: string, kept: KeptPlace): Promise<boolean> {
  if (kept.itemId === undefined || kept.branch === null) return false;
  const { letters } = await engine.listLetters({ queue, itemIds: [kept.itemId], limit: 1 });
  return letters.some(({ worktreeArtifacts }) => worktreeArtifacts?.branchName === kept.branch);
}

/** Letters on their way through a redrive are among them. */
export async function hasLetters(engine: Engine, queue: string): Promise<boolean> {
  return (await engine.listLetters({ queue, limit: 1 })).total > 0;
}
