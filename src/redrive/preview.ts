/** What a redrive would do with a selection, and what it would refuse and why. Only looks. */
import type { Engine } from "../engine.ts";
import type { Letter } from "../item/letter.ts";
import type { JsonObject } from "../kit/json.ts";
import { type Selection, selectLetters } from "./select.ts";
import { type SurveyGroup, survey, surveyGroupToJson } from "./survey.ts";

export interface RedrivePreview {
  readonly selected: number;
  /** How many would be sent back to work. */
  readonly redrivable: number;
  /** Largest first. */
  readonly groups: readonly PreviewGroup[];
  /** Most frequent first. */
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
}

export interface PreviewGroup extends SurveyGroup {
  /** How many of the group would be sent back to work. */
  readonly redrivable: number;
}

export async function previewRedrive(
  engine: Engine,
  selection: Selection,
  { force }: { readonly force: boolean },
): Promise<RedrivePreview> {
  const all = await survey(engine, selection);
  const fit = force ? all : await survey(engine, judgedAs(selection, true));
  const fitOf = new Map(fit.groups.map(({ signature, count }) => [signature, count]));
  const groups = all.groups.map((group) => ({ ...group, redrivable: fitOf.get(group.signature) ?? 0 }));
  const refusals = force ? [] : await tallyRefusals(engine, selection);
  return { selected: all.total, redrivable: fit.total, groups, refusals };
}

/** The document of `--dry-run`: the books as they would be, and what they are made of. */
export function previewToJson(preview: RedrivePreview, jobId: string | null): JsonObject {
  const { selected, redrivable, groups, refusals } = preview;
  return {
    operation_id: null,
    job_id: jobId,
    dry_run: true,
    selected,
    redriven: redrivable,
    refused: selected - redrivable,
    succeeded: 0,
    failed: 0,
    remaining: 0,
    groups: groups.map(({ redrivable: redriven, ...group }) => ({ ...surveyGroupToJson(group), redriven })),
    refusals: refusals.map((refusal) => ({ ...refusal })),
  };
}

/** Of those that were asked for already, no other are looked for. */
function judgedAs({ filter, ...selection }: Selection, eligible: boolean): Selection {
  if (filter.eligible !== undefined && filter.eligible !== eligible)
    return { ...selection, filter: { ...filter, itemIds: [] } };
  return { ...selection, filter: { ...filter, eligible } };
}

async function tallyRefusals(engine: Engine, selection: Selection): Promise<RedrivePreview["refusals"]> {
  const counts = new Map<string, number>();
  for await (const letter of selectLetters(engine, judgedAs(selection, false))) {
    const reason = whyIneligible(letter);
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const refusals = [...counts].map(([reason, count]) => ({ reason, count }));
  return refusals.sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
}

/** In words, why only `--force` sends a letter again. */
export function whyIneligible({ toxic, manualReviewRequired, redriveCount, failureHistory }: Letter): string {
  const type = failureHistory.at(-1)?.errorType.name ?? "Unknown";
  if (toxic) return `toxic: came back from ${redriveCount === 1 ? "1 redrive" : `${redriveCount} redrives`}`;
  return manualReviewRequired ? `needs a person: ${type}` : `permanent: ${type}`;
}
