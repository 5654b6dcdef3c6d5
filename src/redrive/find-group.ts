/** Finding one group: by its signature, the beginning of it, or its name; exactly one, or an error that says which there are. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Correction, GroupMark } from "../item/group.ts";
import { titleLine } from "../triage/title.ts";

const CANDIDATES_MAX = 5;

/** As it stands, also when it was merged into another. `group_not_found`, or `ambiguous` with the candidates. */
export async function requireGroup(engine: Engine, word: string): Promise<GroupMark> {
  const found = await fittingGroups(engine, word);
  const [only, ...others] = found;
  if (only === undefined) {
    throw new WorkError("group_not_found", `There is no group ${word === "" ? '""' : word}.`, {
      hint: "`redrive groups list --state all` lists them; a signature may be cut short, a rule's group has the rule's name.",
    });
  }
  if (others.length === 0) return only;
  const names = found
    .slice(0, CANDIDATES_MAX)
    .map(({ signature, pattern }) => `  ${signature}  ${titleLine(pattern)}`);
  const more = found.length > CANDIDATES_MAX ? `\n  and ${found.length - CANDIDATES_MAX} more` : "";
  throw new WorkError("ambiguous", `${word} fits ${found.length} groups:\n${names.join("\n")}${more}`, {
    hint: "Give more of the signature.",
  });
}

/** The group that the letters are in: the one that it was merged into, where it was. */
export async function requireLiveGroup(engine: Engine, word: string): Promise<GroupMark> {
  const mark = await requireGroup(engine, word);
  const signature = mergedInto(mark.signature, await engine.listCorrections());
  return signature === mark.signature ? mark : ((await engine.readGroup(signature)) ?? mark);
}

/** Where the merges lead; the signature itself when it was never merged. Pure. */
export function mergedInto(signature: string, corrections: readonly Correction[]): string {
  const seen = new Set([signature]);
  let at = signature;
  for (;;) {
    const merge = corrections.find(({ from, text }) => from === at && text === undefined);
    if (merge === undefined || seen.has(merge.to)) return at;
    at = merge.to;
    seen.add(at);
  }
}

/** The whole signature goes before a name, and a name before signatures that begin with the word. */
async function fittingGroups(engine: Engine, word: string): Promise<readonly GroupMark[]> {
  if (word.trim() === "") return [];
  const exact = await engine.readGroup(word);
  if (exact !== null) return [exact];
  const found = await engine.listMarks({ prefix: word });
  const named = found.filter(({ pattern }) => pattern === word);
  return named.length > 0 ? named : found.filter(({ signature }) => signature.startsWith(word));
}
