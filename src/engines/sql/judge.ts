/** Decides which letters of a step are processed, and why the others are refused, for both SQL stores. */
import { KIND_RULES, type LetterStep, REFUSAL } from "../../item/operation.ts";
import type { ItemState } from "../../item/state.ts";
import type { StoredOperation } from "./operations.ts";

/** A pending letter: its state when it was selected (`was`), and its current state. */
export interface CandidateRow {
  readonly no: number;
  readonly was: ItemState;
  readonly state: ItemState;
  /** False or 0 if the letter no longer exists. */
  readonly here: boolean | number;
  readonly revision: number;
  readonly eligible: number;
  readonly signature: string;
}

/** The numbers of refused letters, by reason. */
export type Refused = ReadonlyMap<string, readonly number[]>;

interface Judged<Candidate> {
  readonly accepted: readonly Candidate[];
  readonly refused: Refused;
}

/** `named` contains the letters listed in the step, by number. */
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

/** Returns why the letter cannot be processed, or undefined. */
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
