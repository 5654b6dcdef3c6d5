/**
 * Merges and splits of groups. The correction is written down first, so that whatever is buried from then on obeys it; then
 * the letters that are there follow, page by page. A crash in between leaves some of them where they were: the same command
 * again moves the rest.
 */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Correction } from "../item/group.ts";
import { LETTER_STATES } from "../item/state.ts";
import { ALGORITHM } from "../triage/signature.ts";
import { type CorrectionPlan, type NamedGroup, planMerge, planSplit } from "./correction-plan.ts";
import { mergedInto } from "./find-group.ts";

export interface CorrectOptions {
  readonly author: string;
  /** Told how many letters have been looked at. */
  readonly onProgress?: (letters: number) => void;
}

/** What became of the letters. */
export interface Corrected {
  /** The group that they are in now. */
  readonly target: NamedGroup;
  /** How many changed their group. */
  readonly moved: number;
}

/** Makes groups one, also for later failures. One that was merged before goes to where its letters are. */
export async function mergeGroups(
  engine: Engine,
  { groups, into }: { readonly groups: readonly NamedGroup[]; readonly into: NamedGroup },
  options: CorrectOptions,
): Promise<Corrected> {
  const target = await endOf(engine, into);
  for (const group of groups) {
    await writeDown(engine, planMerge(group, target, await engine.listCorrections()), options.author);
  }
  let moved = 0;
  for (const group of groups) {
    if (group.signature !== target.signature) moved += await moveLetters(engine, { group, target }, options);
  }
  if (moved > 0) await openAgain(engine, target.signature, options.author);
  return { target, moved };
}

/** Makes the failures of a group whose message has a text a group of their own, also later ones. */
export async function splitGroup(
  engine: Engine,
  group: NamedGroup,
  { text, name, ...options }: CorrectOptions & { readonly text: string; readonly name?: string },
): Promise<Corrected> {
  const words = { text, ...(name !== undefined && { name }) };
  const { target, ...plan } = planSplit(group, words, await engine.listCorrections());
  await writeDown(engine, plan, options.author);
  return { target, moved: await moveLetters(engine, { group, target }, { ...options, text }) };
}

async function endOf(engine: Engine, group: NamedGroup): Promise<NamedGroup> {
  const signature = mergedInto(group.signature, await engine.listCorrections());
  return (await engine.readGroup(signature)) ?? group;
}

async function writeDown(engine: Engine, { remove, add }: CorrectionPlan, author: string): Promise<void> {
  for (const { from, text } of remove) await engine.removeCorrection(from, text);
  for (const rule of add) await engine.correct({ ...rule, author });
}

const PAGE_LETTERS_MAX = 200;

/** The letters of a group, waiting and closed, go to where the corrections say. Oldest first: new ones obey already. */
async function moveLetters(
  engine: Engine,
  { group, target }: { readonly group: NamedGroup; readonly target: NamedGroup },
  { text, onProgress }: Pick<CorrectOptions, "onProgress"> & { readonly text?: string },
): Promise<number> {
  const { signature, pattern } = group;
  const algorithms = await algorithmsOf(engine, [signature, target.signature]);
  const filter = { signatures: [signature], states: LETTER_STATES, ...(text !== undefined && { text }) };
  let [moved, seen] = [0, 0];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const place = {
      order: "oldest",
      limit: PAGE_LETTERS_MAX,
      ...(cursor !== undefined && { cursor }),
    } as const;
    const page = await engine.listLetters({ ...filter, ...place });
    moved += await engine.regroup(
      page.letters.map(({ burial, queue }) => {
        return { burial, signature, pattern, algorithm: algorithms.get(queue) ?? ALGORITHM };
      }),
    );
    seen += page.letters.length;
    onProgress?.(seen);
    cursor = page.next;
  }
  return moved;
}

/** By queue. Who moves letters does not group them anew: what an older algorithm grouped stays known as that. */
async function algorithmsOf(
  engine: Engine,
  signatures: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const groups = await engine.listGroups({});
  const old = groups.filter(
    ({ signature, algorithm }) => signatures.includes(signature) && algorithm !== ALGORITHM,
  );
  return new Map(old.map(({ queue, algorithm }) => [queue, algorithm]));
}

/** Letters that wait are not resolved. */
async function openAgain(engine: Engine, signature: string, author: string): Promise<void> {
  const mark = await engine.readGroup(signature);
  const groups = await engine.listGroups({});
  const hasLetters = groups.some((group) => group.signature === signature);
  if (mark?.state === "resolved" && hasLetters) await engine.markGroup(signature, { author, state: "open" });
}

/** The correction with this number, counted from 1 as the list shows them. */
export async function requireCorrection(engine: Engine, number: number): Promise<Correction> {
  const corrections = await engine.listCorrections();
  const found = corrections[number - 1];
  if (found !== undefined) return found;
  throw new WorkError("usage", `There is no correction ${number}.`, {
    hint: corrections.length === 0 ? "There are none." : `They are numbered 1 to ${corrections.length}.`,
  });
}

/** Later failures obey it no more; `groups rebuild` moves the letters that are there. */
export async function removeCorrection(engine: Engine, { from, text }: Correction): Promise<boolean> {
  return engine.removeCorrection(from, text);
}
