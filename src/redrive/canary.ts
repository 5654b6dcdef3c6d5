/**
 * A redrive that feels its way: one letter of each group, then 1 %, then 10 %, then all. Each stage comes to its end
 * before the next begins; when a letter comes back with the failure that it had, nothing more is sent. How far it has
 * come is kept with the operation.
 */
import type { Engine, StoredLetter } from "../engine.ts";
import type { Operation, SelectedLetter } from "../item/operation.ts";
import { isJsonObject, type JsonObject } from "../kit/json.ts";
import { ALGORITHM, signatureOf } from "../triage/signature.ts";

/** Where a canary stands. */
export interface CanaryStage {
  /** From 1. */
  readonly stage: number;
  /** How many letters have been sent when all of the stage have; not known while the first of each group are looked for. */
  readonly goal?: number;
}

/** What each stage sends, in words. */
export const STAGE_NAMES = ["one of each group", "1 %", "10 %", "all the rest"] as const;

const SHARES = [0, 0.01, 0.1, 1] as const;

/** As it stands in the operation's progress; at the beginning, the first stage. */
export function stageOf({ progress }: Pick<Operation, "progress">): CanaryStage {
  const stage = typeof progress.stage === "number" ? progress.stage : 1;
  return typeof progress.goal === "number" ? { stage, goal: progress.goal } : { stage };
}

export function stageToJson({ stage, goal }: CanaryStage): JsonObject {
  return goal === undefined ? { stage } : { stage, goal };
}

/** The stage that follows: a share of the whole selection on top of what was sent, and at least one letter. */
export function nextStage({ stage }: CanaryStage, { selected, done }: Operation): CanaryStage {
  const next = Math.min(stage + 1, SHARES.length);
  const share = SHARES[next - 1] ?? 1;
  return { stage: next, goal: Math.min(selected, done + Math.max(1, Math.ceil(selected * share))) };
}

/** The letter that came back with the failure that it had. */
export interface Returned {
  readonly itemId: string;
  readonly signature: string;
  /** What its group is called; absent in books that were written before it was kept. */
  readonly pattern?: string;
}

/** Why the rest of the letters is refused. */
export function stopReason({ itemId, signature }: Returned): string {
  return `the canary stopped: ${itemId} came back with the same failure (group ${signature})`;
}

export function returnedToJson({ itemId, signature, pattern }: Returned): {
  readonly stopped_by: JsonObject;
} {
  return { stopped_by: { item_id: itemId, signature, ...(pattern !== undefined && { pattern }) } };
}

/** The letter that stopped the canary; null when none did. */
export function returnedOf({ progress }: Pick<Operation, "progress">): Returned | null {
  const { stopped_by: stopped } = progress;
  if (!isJsonObject(stopped)) return null;
  return {
    itemId: String(stopped.item_id),
    signature: String(stopped.signature),
    ...(typeof stopped.pattern === "string" && { pattern: stopped.pattern }),
  };
}

/** Looks for a letter of the operation that is dead again with the signature that it was selected with. */
export function findReturned(engine: Engine, operation: Operation): Promise<Returned | null> {
  return findDeadAgain(engine, operation, (letter, { signature }) => letter.errorSignature === signature);
}

/**
 * The same for letters that an older algorithm grouped: their failures have other signatures now, so that the store does not
 * count them as returned. The failure before the redrive and the last one are signed again and compared.
 */
export async function findReturnedOfOldGroups(
  engine: Engine,
  operation: Operation,
): Promise<Returned | null> {
  const groups = await engine.listGroups({ queue: operation.queue });
  const current = new Set(groups.filter(({ algorithm }) => algorithm === ALGORITHM).map(signatureIn));
  if (current.size === groups.length) return null;
  return findDeadAgain(
    engine,
    operation,
    (letter, { signature }) => !current.has(signature) && failedAsBefore(letter, operation.createdAt),
  );
}

function signatureIn({ signature }: { readonly signature: string }): string {
  return signature;
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
  for await (const one of selected(engine, id, "done")) {
    const letter = await engine.readLetter(one.ref);
    if (letter?.state === "dead" && letter.burial > one.burial && isSame(letter, one))
      return { itemId: one.itemId, signature: letter.errorSignature, pattern: letter.errorPattern };
  }
  return null;
}

/**
 * The first letter of each group that has none at work yet, by burial. Letters that would be refused are passed over: they
 * tell nothing about their group.
 */
export async function pickOfEachGroup(engine: Engine, operation: Operation): Promise<readonly number[]> {
  const covered = new Set<string>();
  for await (const { signature } of selected(engine, operation.id, "done")) covered.add(signature);
  const picks: number[] = [];
  for await (const letter of selected(engine, operation.id, "pending")) {
    if (covered.has(letter.signature)) continue;
    const fit = operation.force ? "yes" : await fitness(engine, letter, operation.queue);
    if (fit === "yes") picks.push(letter.burial);
    if (fit !== "not this one") covered.add(letter.signature);
  }
  return picks;
}

/** `none`: the whole group would be refused, so that the rest of it need not be read. */
async function fitness(
  engine: Engine,
  { ref, signature }: SelectedLetter,
  queue: string,
): Promise<"yes" | "not this one" | "none"> {
  const letter = await engine.readLetter(ref);
  if (letter?.state === "dead" && letter.reprocessEligible) return "yes";
  const query = { queue, signatures: [signature], eligible: true, states: ["dead"], limit: 0 } as const;
  return (await engine.listLetters(query)).total > 0 ? "not this one" : "none";
}

const PAGE_MAX = 1000;

async function* selected(
  engine: Engine,
  operationId: string,
  status: SelectedLetter["status"],
): AsyncGenerator<SelectedLetter> {
  let after: number | undefined;
  for (;;) {
    const query = { status, limit: PAGE_MAX, ...(after !== undefined && { after }) };
    const page = await engine.listSelected(operationId, query);
    yield* page;
    after = page.at(-1)?.burial;
    if (after === undefined || page.length < PAGE_MAX) return;
  }
}
