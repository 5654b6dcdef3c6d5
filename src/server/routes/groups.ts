/** Handlers of the routes of groups. */
import type { Engine } from "../../engine.ts";
import { GROUP_STATES } from "../../item/group.ts";
import { requireJob } from "../../queue/find-job.ts";
import { explainGroup, explanationToJson } from "../../redrive/explain-group.ts";
import {
  bestFix,
  groupToJson,
  groupViewToJson,
  listGroups,
  requireLiveGroup,
  sampleItems,
  viewGroup,
} from "../../redrive/groups.ts";
import { suggestedMerges, suggestionToJson } from "../../redrive/suggest-merges.ts";
import { compact, type JsonObject } from "../../std/json.ts";
import { ALGORITHM } from "../../triage/signature.ts";
import type { Handler } from "../context.ts";
import { PAGE_DEFAULT } from "../contract/filter.ts";
import type { groupRoutes } from "../contract/groups.ts";
import { countArrivals } from "./trends.ts";

type Routes = typeof groupRoutes;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const groupHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /groups": async ({ engine }, { query }) => {
    const { state: given = ["open"], limit = PAGE_DEFAULT, cursor } = query;
    const name = query.job ?? query.queue;
    const queue = name === undefined ? {} : { queue: (await requireJob(engine, name)).id };
    const states = GROUP_STATES.filter((state) => given.includes("all") || given.includes(state));
    const { search, assignee, sort: order } = query;
    const { groups, total, next, leftOut } = await listGroups(engine, {
      ...queue,
      ...{ states, limit },
      ...compact({ cursor, order, search, assignee }),
    });
    const documents: object[] = [];
    for (const group of groups) {
      const { signature } = group;
      const samples = query.samples ? await sampleItems(engine, signature, queue.queue) : [];
      const document = groupToJson(group, samples);
      const trend = query.trend ? { arrivals: await lastDay(engine, signature, queue.queue) } : {};
      const helped = query.helped ? await helpedBefore(engine, signature) : {};
      documents.push({ ...document, ...trend, ...helped });
    }
    return {
      groups: documents,
      total,
      next,
      left_out: leftOut,
      algorithm: ALGORITHM,
    };
  },

  "GET /groups/suggestions": async ({ engine, redactor }, { query: { job, limit = PAGE_DEFAULT } }) => {
    const queue = job === undefined ? {} : { queue: (await requireJob(engine, job)).id };
    const all = await suggestedMerges(engine, queue);
    const suggestions = all.slice(0, limit).map(suggestionToJson);
    return {
      suggestions: redactor === null ? suggestions : suggestions.map(withoutWords),
      total: all.length,
    };
  },

  "GET /groups/{group}": async ({ engine }, { params }) =>
    groupViewToJson(await viewGroup(engine, await requireLiveGroup(engine, params.group))),

  "GET /groups/{group}/explain": async ({ engine, config, redactor }, { params }) => {
    const { groups: rules } = await config();
    const group = await requireLiveGroup(engine, params.group);
    const explanation = explanationToJson(await explainGroup(engine, group, rules));
    // The message lines may contain any item value.
    return redactor === null ? explanation : { ...explanation, lines: [], hits: [], words: [] };
  },
};

async function helpedBefore(engine: Engine, signature: string): Promise<object> {
  const fix = bestFix((await engine.readGroup(signature))?.fixes ?? []);
  return fix === undefined ? {} : { helped: compact({ kind: fix.kind, count: fix.count, rule: fix.rule }) };
}

/** The words in which the groups differ may be item values. */
function withoutWords({ groups, ...rest }: ReturnType<typeof suggestionToJson>): JsonObject {
  return { ...rest, common: "", groups: groups.map((group) => ({ ...group, differs_in: "" })) };
}

async function lastDay(engine: Engine, signature: string, queue?: string): Promise<readonly number[]> {
  const span = { bucketMs: HOUR_MS, spanMs: DAY_MS };
  return (await countArrivals(engine, { signature, ...span, ...(queue !== undefined && { queue }) })).counts;
}
