/**
 * Groups letters anew: with the algorithm of this version, the rules and the corrections that hold now. Letter by letter, all
 * states, in the store's pages; a crash leaves some letters with their old groups, and the same again moves the rest.
 */
import type { Engine, Regrouped, StoredLetter } from "../engine.ts";
import { corrected } from "../item/correction.ts";
import { LETTER_STATES } from "../item/state.ts";
import { groupOf } from "../triage/group-of.ts";
import type { GroupRule } from "../triage/group-rule.ts";

/** Of which letters, and by which rules. */
export interface RebuildOptions {
  /** Default: all queues. */
  readonly queue?: string;
  readonly rules: readonly GroupRule[];
  /** Counts what would change, and changes nothing. */
  readonly dryRun?: boolean;
  /** Told how many letters have been looked at. */
  readonly onProgress?: (letters: number) => void;
}

/** What came of it. */
export interface Rebuilt {
  /** Letters of all states. */
  readonly letters: number;
  /** Those whose group changed, or would. */
  readonly changed: number;
  readonly groupsBefore: number;
  readonly groupsAfter: number;
}

const PAGE_LETTERS_MAX = 200;

/** All letters of a queue, or of all, get the groups that they would get if they were buried now. */
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
      const group = groupAnew(letter, rules);
      const { signature } = corrected(group ?? asItIs(letter), messageOf(letter), corrections);
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

/** Null when nothing is known of why it died: then its group is all there is. */
function groupAnew(letter: StoredLetter, rules: readonly GroupRule[]): Regrouped | null {
  const failure = letter.failureHistory.at(-1);
  if (failure === undefined) return null;
  const { signature, pattern, algorithm } = groupOf(failure, rules);
  return { burial: letter.burial, signature, pattern, algorithm };
}

function asItIs({ errorSignature, errorPattern }: StoredLetter) {
  return { signature: errorSignature, pattern: errorPattern };
}

function messageOf({ failureHistory }: StoredLetter): string {
  return failureHistory.at(-1)?.errorMessage ?? "";
}
