/**
 * Merges and splits groups. The correction is stored first, so that it applies to new letters; then existing
 * letters are moved page by page. After a crash in between, the same command moves the rest.
 */
import { letterPages } from "../dead-letter/pages.ts";
import type { Engine, Regrouped } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { type Correction, type CorrectionRule, corrected, type GroupRecord } from "../item/group.ts";
import { LETTER_STATES } from "../item/state.ts";
import { compact } from "../std/json.ts";
import { type GroupRule, groupOf, splitSignature } from "../triage/grouping.ts";
import { ALGORITHM } from "../triage/signature.ts";
import { carryCorrections, carryDecisions, Moves } from "./carry-over.ts";
import { mergedInto } from "./groups.ts";

export type CorrectOptions = { readonly author: string; readonly onProgress?: (letters: number) => void };

export type Corrected = { readonly target: NamedGroup; readonly moved: number };

/**
 * Merges groups. Later failures follow the merge. If the target was itself merged, its current group becomes the
 * target.
 */
export async function mergeGroups(
  engine: Engine,
  { groups, into }: { groups: readonly NamedGroup[]; into: NamedGroup },
  options: CorrectOptions,
): Promise<Corrected> {
  const target = await currentGroup(engine, into);
  for (const group of groups) {
    await storeCorrections(engine, planMerge(group, target, await engine.listCorrections()), options.author);
  }
  const { author } = options;
  const merged = groups.map(({ signature }) => signature);
  const details = { groups: merged, into: target.signature };
  await engine.recordChange({ author, action: "groups_merged", details });
  let moved = 0;
  for (const group of groups) {
    if (group.signature !== target.signature) moved += await moveLetters(engine, { group, target }, options);
  }
  if (moved > 0) await reopenGroup(engine, target.signature, options.author);
  return { target, moved };
}

/** Moves the failures whose message contains a text into a separate group, also for later failures. */
export async function splitGroup(
  engine: Engine,
  group: NamedGroup,
  { text, name, ...options }: CorrectOptions & { text: string; name?: string },
): Promise<Corrected> {
  const words = { text, ...(name !== undefined && { name }) };
  const { target, ...plan } = planSplit(group, words, await engine.listCorrections());
  await storeCorrections(engine, plan, options.author);
  const details = { group: group.signature, ...words, into: target.signature };
  await engine.recordChange({ author: options.author, action: "group_split", details });
  return { target, moved: await moveLetters(engine, { group, target }, { ...options, text }) };
}

/** Removes a merge or a split. Returns false if there is none. `rebuildGroups` then moves the existing letters. */
export async function removeCorrection(
  engine: Engine,
  { from, text }: Pick<Correction, "from" | "text">,
): Promise<boolean> {
  const isRemoved = await engine.removeCorrection(from, text);
  if (isRemoved)
    await engine.recordChange({ action: "correction_removed", details: compact({ from, text }) });
  return isRemoved;
}

async function currentGroup(engine: Engine, group: NamedGroup): Promise<NamedGroup> {
  const signature = mergedInto(group.signature, await engine.listCorrections());
  return (await engine.readGroup(signature)) ?? group;
}

async function storeCorrections(engine: Engine, { remove, add }: CorrectionPlan, author: string) {
  for (const { from, text } of remove) await engine.removeCorrection(from, text);
  for (const rule of add) await engine.correct({ ...rule, author });
}

const PAGE_LETTERS_MAX = 200;

/**
 * Moves letters in all states, oldest first. Letters that arrive in the meantime already follow the
 * corrections.
 */
async function moveLetters(
  engine: Engine,
  { group, target }: { group: NamedGroup; target: NamedGroup },
  { text, onProgress }: Pick<CorrectOptions, "onProgress"> & { text?: string },
): Promise<number> {
  const { signature, pattern } = group;
  const algorithms = await algorithmsOf(engine, [signature, target.signature]);
  const filter = { signatures: [signature], states: LETTER_STATES, ...(text !== undefined && { text }) };
  let [moved, seen] = [0, 0];
  for await (const letters of letterPages(engine, { ...filter, order: "oldest", limit: PAGE_LETTERS_MAX })) {
    moved += await engine.regroup(
      letters.map(({ letterSequence, queue }) => {
        return { letterSequence, signature, pattern, algorithm: algorithms.get(queue) ?? ALGORITHM };
      }),
    );
    seen += letters.length;
    onProgress?.(seen);
  }
  return moved;
}

/**
 * Finds the older algorithm of each queue. A moved letter keeps it, because its signature is not recomputed.
 */
async function algorithmsOf(engine: Engine, signatures: readonly string[]) {
  const groups = await engine.listGroups({ signatures });
  const old = groups.filter(({ algorithm }) => algorithm !== ALGORITHM);
  return new Map(old.map(({ queue, algorithm }) => [queue, algorithm]));
}

async function reopenGroup(engine: Engine, signature: string, author: string): Promise<void> {
  const record = await engine.readGroup(signature);
  const hasLetters = (await engine.listGroups({ signatures: [signature] })).length > 0;
  if (record?.state === "resolved" && hasLetters)
    await engine.changeGroup(signature, { author, state: "open" });
}

/** The correction with this number, counted from 1 as `groups corrections` lists them. */
export async function requireCorrection(engine: Engine, number: number): Promise<Correction> {
  const corrections = await engine.listCorrections();
  const found = corrections[number - 1];
  if (found !== undefined) return found;
  const count = corrections.length;
  throw new RedriveError("usage", `There is no correction ${number}.`, {
    hint: count === 0 ? "This store has no corrections." : `Valid numbers: 1 to ${count}.`,
  });
}

export type NamedGroup = Pick<GroupRecord, "signature" | "pattern">;

export interface CorrectionPlan {
  readonly remove: readonly Pick<Correction, "from" | "text">[];
  readonly add: readonly CorrectionRule[];
}

/**
 * Merges a group into a target that is not merged itself, and redirects the corrections that pointed to the group. If the
 * group was split off the target, that split is removed.
 */
export function planMerge(group: NamedGroup, target: NamedGroup, corrections: readonly Correction[]) {
  if (group.signature === target.signature) return { remove: [], add: [] };
  const { signature: to, pattern } = target;
  const leading = corrections.filter((one) => one.to === group.signature);
  const moved = leading.filter(({ from }) => from !== to);
  return {
    remove: leading.filter(({ from }) => from === to).map(keyOf),
    add: [...moved.map((one) => ({ ...keyOf(one), to, pattern })), { from: group.signature, to, pattern }],
  };
}

/** Moves failures with the text into a separate group. An earlier merge of that group is removed. */
export function planSplit(
  group: NamedGroup,
  { text, name }: { text: string; name?: string },
  corrections: readonly Correction[],
): CorrectionPlan & { readonly target: NamedGroup } {
  const target = {
    signature: splitSignature(group.signature, text),
    pattern: name ?? `${group.pattern} (${text})`,
  };
  const merge = corrections.filter((one) => one.from === target.signature && one.text === undefined);
  const { signature: to, pattern } = target;
  return { target, remove: merge.map(keyOf), add: [{ from: group.signature, text, to, pattern }] };
}

function keyOf({ from, text }: Correction): Pick<Correction, "from" | "text"> {
  return text === undefined ? { from } : { from, text };
}

export interface RebuildOptions {
  /** Default: all queues. */
  readonly queue?: string;
  readonly rules: readonly GroupRule[];
  readonly dryRun?: boolean;
  readonly onProgress?: (letters: number) => void;
}

/**
 * Assigns every letter to the group that it would get if it were buried now. States, notes and corrections of groups that
 * an older algorithm named are carried over. After a crash, a second run does the rest.
 */
export async function rebuildGroups(engine: Engine, options: RebuildOptions) {
  const { queue, rules, dryRun = false, onProgress } = options;
  if (!dryRun) await carryCorrections(engine, rules);
  const corrections = await engine.listCorrections();
  const moves = new Moves();
  const [before, after] = [new Set<string>(), new Set<string>()];
  const scope = { states: LETTER_STATES, ...(queue !== undefined && { queue }) };
  let [letters, changed] = [0, 0];
  for await (const page of letterPages(engine, { ...scope, order: "oldest", limit: PAGE_LETTERS_MAX })) {
    const regrouped: Regrouped[] = [];
    for (const { letterSequence, failureHistory, errorSignature, errorPattern } of page) {
      const failure = failureHistory.at(-1); // a letter without failures keeps its group
      const group = failure ? groupOf(failure, rules) : { signature: errorSignature, pattern: errorPattern };
      const { signature } = corrected(group, failure?.errorMessage ?? "", corrections);
      before.add(errorSignature);
      after.add(signature);
      if (signature !== errorSignature) changed += 1;
      moves.add(errorSignature, signature);
      if ("algorithm" in group) {
        const { algorithm, pattern } = group;
        regrouped.push({ letterSequence, signature: group.signature, pattern, algorithm });
      }
    }
    if (!dryRun) await engine.regroup(regrouped);
    letters += page.length;
    onProgress?.(letters);
  }
  if (!dryRun) await carryDecisions(engine, moves);
  if (!dryRun)
    await engine.recordChange(compact({ action: "groups_rebuilt", queue, details: { letters, changed } }));
  return { letters, changed, groupsBefore: before.size, groupsAfter: after.size };
}
