/** `redrive groups explain`: why failures are in a group, and which groups are nearly the same. */
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import {
  explainGroup,
  explainLetter,
  explanationToJson,
  type GroupExplanation,
} from "../../redrive/explain-group.ts";
import { requireLiveGroup } from "../../redrive/find-group.ts";
import type { GroupRule } from "../../triage/group-rule.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { explanationText } from "../explain-text.ts";
import { requireLetter } from "../find-letter.ts";

interface Words {
  readonly word: string;
  readonly job?: string;
}

export async function groupsExplain(
  context: Context,
  word: string,
  { job }: { readonly job?: string },
): Promise<number> {
  const { groups: rules } = await context.config();
  const words = { word, ...(job !== undefined && { job }) };
  const explanation = await context.withStore((engine) => explain(engine, words, rules));
  const { paint, columns } = context;
  context.answer(explanationToJson(explanation), () => explanationText(explanation, { paint, columns }));
  return EXIT.done;
}

/** Who names a job means an item of it; else a group goes before an item of the same name. */
async function explain(
  engine: Engine,
  { word, job }: Words,
  rules: readonly GroupRule[],
): Promise<GroupExplanation> {
  if (job !== undefined) return explainLetter(engine, await requireLetter(engine, word, job), rules);
  try {
    return await explainGroup(engine, await requireLiveGroup(engine, word), rules);
  } catch (error) {
    if (!isNotFound(error, "group_not_found")) throw error;
  }
  const letter = await requireLetter(engine, word).catch((error) => {
    throw isNotFound(error, "item_not_found") ? neither(word) : error;
  });
  return explainLetter(engine, letter, rules);
}

function isNotFound(error: unknown, code: WorkError["code"]): boolean {
  return error instanceof WorkError && error.code === code;
}

function neither(word: string): WorkError {
  return new WorkError("group_not_found", `There is no group and no letter ${word}.`, {
    hint: "`redrive groups list --state all` lists the groups, `redrive dlq list` the letters.",
  });
}
