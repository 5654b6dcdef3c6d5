/** Handlers of the routes that change groups. */

import { RedriveError } from "../../errors.ts";
import type { GroupChange } from "../../item/group.ts";
import { requireJob } from "../../queue/find-job.ts";
import { parseTimeOption, TIME_OPTION_FORMS } from "../../queue/time-option.ts";
import { assignGroups } from "../../redrive/assignees.ts";
import { mergeGroups, rebuildGroups, removeCorrection, splitGroup } from "../../redrive/correct-groups.ts";
import { groupViewToJson, requireLiveGroup, viewGroup } from "../../redrive/groups.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { compact, type JsonObject } from "../../std/json.ts";
import { previewText } from "../../triage/preview.ts";
import { titleToJson } from "../../triage/title.ts";
import type { Handler, RequestContext } from "../context.ts";
import type { groupActionRoutes } from "../contract/group-actions.ts";

type Routes = typeof groupActionRoutes;

export const groupActionHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "POST /groups/{group}/resolve": (context, { params, body }) =>
    decide(context, params.group, { state: "resolved", ...compact({ note: body.note }) }),

  "POST /groups/{group}/open": (context, { params, body }) =>
    decide(context, params.group, { state: "open", ...compact({ note: body.note }) }),

  "POST /groups/{group}/ignore": async (context, { params, body }) => {
    const { until, count, per_hour: perHour, note } = body;
    const at = until === undefined ? undefined : timeOf(until, await context.engine.now());
    const ignoreUntil = compact({ at, count, perHour });
    return decide(context, params.group, { state: "ignored", ignoreUntil, ...compact({ note }) });
  },

  "POST /groups/{group}/assign": async ({ engine, author }, { params, body: { assignee } }) => {
    const record = await requireLiveGroup(engine, params.group);
    await assignGroups(engine, [record], { assignee, author });
    return groupViewToJson(await viewGroup(engine, record));
  },

  "POST /groups/{group}/notes": (context, { params, body }) =>
    decide(context, params.group, { note: body.text }),

  "POST /groups/{group}/split": async ({ engine, author }, { params, body }) => {
    const group = await requireLiveGroup(engine, params.group);
    return correctedToJson(
      await splitGroup(engine, group, { author, text: body.text, ...compact({ name: body.name }) }),
    );
  },

  "POST /groups/merge": async ({ engine, author }, { body }) => {
    const into = await requireLiveGroup(engine, body.into);
    const groups = [];
    for (const word of body.groups) groups.push(await requireLiveGroup(engine, word));
    if (groups.some(({ signature }) => signature === into.signature))
      throw new RedriveError("usage", `${into.signature} cannot be merged into itself.`);
    return correctedToJson(await mergeGroups(engine, { groups, into }, { author }));
  },

  "POST /groups/rebuild": async ({ engine, config }, { body: { job, dry_run: dryRun = false } }) => {
    const { groups: rules } = await config();
    const queue = job === undefined ? {} : { queue: (await requireJob(engine, job)).id };
    const rebuilt = await rebuildGroups(engine, { ...queue, rules, dryRun });
    const { letters, changed, groupsBefore, groupsAfter } = rebuilt;
    return { letters, changed, groups_before: groupsBefore, groups_after: groupsAfter, dry_run: dryRun };
  },

  "POST /groups/preview": async (_, { body }) => ({
    groups: body.texts.map((text) => {
      const { signature, pattern } = previewText(text);
      return { signature, ...titleToJson(pattern), pattern };
    }),
  }),

  "GET /corrections": async ({ engine }) => ({
    corrections: (await engine.listCorrections()).map(({ text, pattern, at, ...one }) => ({
      ...one,
      ...(text === undefined ? { kind: "merge" } : { kind: "split", text }),
      ...titleToJson(pattern),
      pattern,
      at: toRfc3339(at),
    })),
  }),

  "POST /corrections/remove": async ({ engine }, { body }) => ({
    removed: await removeCorrection(engine, compact(body)),
  }),
};

async function decide(
  { engine, author }: RequestContext,
  word: string,
  change: Omit<GroupChange, "author">,
): Promise<JsonObject> {
  const { signature } = await requireLiveGroup(engine, word);
  return groupViewToJson(await viewGroup(engine, await engine.changeGroup(signature, { ...change, author })));
}

function timeOf(text: string, now: number): number {
  const at = parseTimeOption(text, now);
  if (at !== undefined && at > now) return at;
  throw new RedriveError("usage", `until: "${text}" must be in the future, and either ${TIME_OPTION_FORMS}.`);
}

function correctedToJson({ target, moved }: Awaited<ReturnType<typeof mergeGroups>>): JsonObject {
  const { signature, pattern } = target;
  return { signature, ...titleToJson(pattern), pattern, moved };
}
