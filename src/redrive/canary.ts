/** Runs a redrive in stages: one letter of each group, then 1 %, 10 %, the rest. Stops if a failure occurs again. */
import { selectedPages } from "../dead-letter/pages.ts";
import type { Engine, StoredLetter } from "../engine.ts";
import type { Operation, SelectedLetter } from "../item/operation.ts";
import { compact, isJsonObject } from "../std/json.ts";
import { ALGORITHM, signatureOf } from "../triage/signature.ts";

/**
 * `goal` is how many letters have been redriven when the stage ends. It is absent until the first letters are
 * chosen.
 */
export type CanaryStage = { readonly stage: number; readonly goal?: number };

const STAGE_NAMES = ["one of each group", "1 %", "10 %", "all the rest"] as const;

const SHARES = [0, 0.01, 0.1, 1] as const;

export function stageOf({ progress }: Pick<Operation, "progress">): CanaryStage {
  const { stage, goal } = progress;
  return { stage: typeof stage === "number" ? stage : 1, ...(typeof goal === "number" && { goal }) };
}

/** The stage as shown to people. A canary with a given number of letters has two stages. */
export function describeStage({ plan }: Pick<Operation, "plan">, stage: number) {
  if (typeof plan.canary !== "number") {
    return { number: stage, stages: STAGE_NAMES.length, name: STAGE_NAMES[stage - 1] ?? "" };
  }
  const isFirst = stage === 1;
  return { number: isFirst ? 1 : 2, stages: 2, name: isFirst ? `the first ${plan.canary}` : "all the rest" };
}

/**
 * Each further stage redrives a share of the whole selection, at least one letter. After a canary with a
 * given number, the next stage is the rest.
 */
export function nextStage({ stage }: CanaryStage, { selected, done, plan }: Operation): CanaryStage {
  if (typeof plan.canary === "number") return { stage: SHARES.length, goal: selected };
  const next = Math.min(stage + 1, SHARES.length);
  const share = SHARES[next - 1] ?? 1;
  return { stage: next, goal: Math.min(selected, done + Math.max(1, Math.ceil(selected * share))) };
}

export interface Returned {
  readonly itemId: string;
  readonly signature: string;
  /** The pattern of its group. Operations of older versions did not store it. */
  readonly pattern?: string;
}

export function stopReason({ itemId, signature }: Returned): string {
  return `the canary stopped: ${itemId} failed again with the same failure (group ${signature})`;
}

export function returnedToJson({ itemId, signature, pattern }: Returned) {
  return { stopped_by: compact({ item_id: itemId, signature, pattern }) };
}

export function returnedOf({ progress }: Pick<Operation, "progress">): Returned | null {
  const { stopped_by: stopped } = progress;
  if (!isJsonObject(stopped)) return null;
  const { item_id: itemId, signature, pattern } = stopped;
  const returned = { itemId: String(itemId), signature: String(signature) };
  return typeof pattern === "string" ? { ...returned, pattern } : returned;
}

export function findReturned(engine: Engine, operation: Operation): Promise<Returned | null> {
  return findDeadAgain(engine, operation, (letter, { signature }) => letter.errorSignature === signature);
}

/**
 * Like `findReturned`, for groups of an older algorithm. Their signatures must be recomputed before they can
 * be compared.
 */
export async function findReturnedOfOldGroups(engine: Engine, operation: Operation) {
  const groups = await engine.listGroups({ queue: operation.queue });
  const current = new Set(groups.flatMap((one) => (one.algorithm === ALGORITHM ? one.signature : [])));
  if (current.size === groups.length) return null;
  const isSame = (letter: StoredLetter, { signature }: SelectedLetter) =>
    !current.has(signature) && failedAsBefore(letter, operation.createdAt);
  return findDeadAgain(engine, operation, isSame);
}

function failedAsBefore({ failureHistory }: StoredLetter, redrivenAt: number): boolean {
  const last = failureHistory.at(-1);
  const before = failureHistory.slice(0, -1).findLast(({ timestamp }) => timestamp <= redrivenAt);
  if (last === undefined || before === undefined) return false;
  return signatureOf(last).signature === signatureOf(before).signature;
}

async function findDeadAgain(
  engine: Engine,
  { id }: Operation,
  isSame: (letter: StoredLetter, selected: SelectedLetter) => boolean,
): Promise<Returned | null> {
  for await (const page of selectedPages(engine, id, "done")) {
    for (const one of page) {
      const letter = await engine.readLetter(one.ref);
      if (letter?.state === "dead" && letter.letterSequence > one.letterSequence && isSame(letter, one))
        return { itemId: one.itemId, signature: letter.errorSignature, pattern: letter.errorPattern };
    }
  }
  return null;
}

/**
 * Chooses one letter from each group that has no redriven letter yet. Skips letters that would be refused.
 */
export async function pickOfEachGroup(engine: Engine, operation: Operation): Promise<readonly number[]> {
  const covered = new Set<string>();
  for await (const page of selectedPages(engine, operation.id, "done"))
    for (const { signature } of page) covered.add(signature);
  const picks: number[] = [];
  for await (const page of selectedPages(engine, operation.id, "pending")) {
    for (const letter of page) {
      if (covered.has(letter.signature)) continue;
      const fit = operation.force ? "yes" : await fitness(engine, letter, operation.queue);
      if (fit === "yes") picks.push(letter.letterSequence);
      if (fit !== "not this one") covered.add(letter.signature);
    }
  }
  return picks;
}

/** Returns `none` if every letter of the group would be refused, so that the caller can skip the group. */
async function fitness(engine: Engine, { ref, signature }: SelectedLetter, queue: string) {
  const letter = await engine.readLetter(ref);
  if (letter?.state === "dead" && letter.reprocessEligible) return "yes";
  const query = { queue, signatures: [signature], eligible: true, states: ["dead"], limit: 0 } as const;
  return (await engine.listLetters(query)).total > 0 ? "not this one" : "none";
}
