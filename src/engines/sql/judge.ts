/** Which letters of a step are worked on, and why the others are not: the same in both SQL stores. */
import { KIND_RULES, type LetterStep, REFUSAL } from "../../item/operation.ts";
import type { ItemState } from "../../item/state.ts";
import type { StoredOperation } from "./operations.ts";

/** A pending letter, where it was and where it is. */
export interface CandidateRow {
  readonly no: number;
  readonly was: ItemState;
  readonly state: ItemState;
  /** False or 0 when there is no such letter any more. */
  readonly here: boolean | number;
  readonly revision: number;
  readonly eligible: number;
  readonly signature: string;
}

/** The numbers of those that are not worked on, by reason. */
export type Refused = ReadonlyMap<string, readonly number[]>;

interface Judged<Candidate> {
  readonly accepted: readonly Candidate[];
  readonly refused: Refused;
}

/** `named` has the letters that the step names, by number. */
export function judge<Candidate extends CandidateRow>(
  work: { readonly operation: StoredOperation; readonly named: ReadonlyMap<number, LetterStep> },
  candidates: readonly Candidate[],
): Judged<Candidate> {
  const refused = new Map<string, number[]>();
  const accepted = candidates.filter((candidate) => {
    const asked = work.named.get(candidate.no);
    const reason = asked?.refuse ?? obstacle(work.operation, candidate, asked?.revision);
    if (reason === undefined) return true;
    const numbers = refused.get(reason) ?? [];
    numbers.push(candidate.no);
    refused.set(reason, numbers);
    return false;
  });
  return { accepted, refused };
}

/** Why the letter cannot be worked on, if so. */
function obstacle(
  { kind, force }: StoredOperation,
  candidate: CandidateRow,
  expected: number = candidate.revision,
): string | undefined {
  const { here, state, was, revision, eligible } = candidate;
  const isThere = Boolean(here) && state === was && revision === expected;
  if (!isThere || !KIND_RULES[kind].states.includes(state)) return REFUSAL.gone;
  return kind === "redrive" && eligible === 0 && !force ? REFUSAL.ineligible : undefined;
}
