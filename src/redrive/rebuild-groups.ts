/** Recomputes the groups of all letters page by page. After a crash, a second run regroups the rest. */
import type { Engine, Regrouped, StoredLetter } from "../engine.ts";
import { corrected } from "../item/group.ts";
import { LETTER_STATES } from "../item/state.ts";
import type { GroupRule } from "../triage/grouping.ts";
import { groupOf } from "../triage/grouping.ts";

export interface RebuildOptions {
  /** Default: all queues. */
  readonly queue?: string;
  readonly rules: readonly GroupRule[];
  /** Counts the changes without writing them. */
  readonly dryRun?: boolean;
  /** Called with the number of letters processed so far. */
  readonly onProgress?: (letters: number) => void;
}

export interface Rebuilt {
  /** Letters in all states. */
  readonly letters: number;
  /** How many letters changed their group, or would. */
  readonly changed: number;
  readonly groupsBefore: number;
  readonly groupsAfter: number;
}

const PAGE_LETTERS_MAX = 200;

/** Gives every letter the group that it would get if it were buried now. */
export async function rebuildGroups(engine: Engine, options: RebuildOptions): Promise<Rebuilt> {
  const { queue, rules, dryRun = false, onProgress } = options;
  const corrections = await engine.listCorrections();
  const [before, after] = [new Set<string>(), new Set<string>()];
  let [letters, changed] = [0, 0];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await engine.listLetters({
      states: LETTER_STATES,
      order: "oldest",
      limit: PAGE_LETTERS_MAX,
      ...(queue !== undefined && { queue }),
      ...(cursor !== undefined && { cursor }),
    });
    const regrouped: Regrouped[] = [];
    for (const letter of page.letters) {
      const group = regroup(letter, rules);
      const { signature } = corrected(group ?? currentGroup(letter), messageOf(letter), corrections);
      before.add(letter.errorSignature);
      after.add(signature);
      if (signature !== letter.errorSignature) changed += 1;
      if (group !== null) regrouped.push(group);
    }
    if (!dryRun) await engine.regroup(regrouped);
    letters += page.letters.length;
    onProgress?.(letters);
    cursor = page.next;
  }
  return { letters, changed, groupsBefore: before.size, groupsAfter: after.size };
}

/** Returns null for a letter without failures, which keeps its group. */
function regroup(letter: StoredLetter, rules: readonly GroupRule[]): Regrouped | null {
  const failure = letter.failureHistory.at(-1);
  if (failure === undefined) return null;
  const { signature, pattern, algorithm } = groupOf(failure, rules);
  return { letterSequence: letter.letterSequence, signature, pattern, algorithm };
}

function currentGroup({ errorSignature, errorPattern }: StoredLetter) {
  return { signature: errorSignature, pattern: errorPattern };
}

function messageOf({ failureHistory }: StoredLetter): string {
  return failureHistory.at(-1)?.errorMessage ?? "";
}
