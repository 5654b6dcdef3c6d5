/** `redrive groups list|show|explain|preview`: lists groups of failures and explains the grouping. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Engine } from "../../engine.ts";
import { isError } from "../../errors.ts";
import { openInput } from "../../intake/input.ts";
import { GROUP_STATES } from "../../item/group.ts";
import { requireLetter } from "../../queue/find-item.ts";
import { requireJob } from "../../queue/find-job.ts";
import {
  compareGroups,
  comparisonToJson,
  explainGroup,
  explainLetter,
  explanationToJson,
  type GroupExplanation,
} from "../../redrive/explain-group.ts";
import {
  groupToJson,
  groupViewToJson,
  listGroups,
  readFixes,
  requireGroup,
  requireLiveGroup,
  sampleItems,
  viewGroup,
} from "../../redrive/groups.ts";
import { countSuggested } from "../../redrive/suggest-merges.ts";
import { compact } from "../../std/json.ts";
import type { GroupRule } from "../../triage/grouping.ts";
import { previewLines } from "../../triage/preview.ts";
import { ALGORITHM, type Signature } from "../../triage/signature.ts";
import { argument, command } from "../command.ts";
import { EXIT, userError } from "../exit-code.ts";
import { limit, listOf, ofJob, text } from "../options.ts";
import { explanationText } from "../render/explanation.ts";
import { fixText, groupListText, groupText } from "../render/group.ts";
import { shortSignatures } from "../render/letter-list.ts";

export const GROUP = "a group's signature, a unique prefix of it, or its name";

const list = command({
  isDefault: true,
  summary: "List groups of dead letters, largest first.",
  examples: ["redrive groups", "redrive groups list --job nightly --state all"],
  options: {
    job: ofJob("list groups of this job (default: of all jobs)"),
    states: listOf("--state <states>", "the states: open, resolved, ignored, all (default: open)", [
      ...GROUP_STATES,
      "all",
    ]),
    assignee: text("--assignee <person>", "only groups that are assigned to this person"),
    limit,
  },
  run: async (context, { job, states: given = ["open"], assignee, limit: count }) => {
    const states = GROUP_STATES.filter((state) => given.includes("all") || given.includes(state));
    const { found, shown, samples, ...screen } = await context.withStore(async (engine) => {
      const queue = job === undefined ? {} : { queue: (await requireJob(engine, job)).id };
      const groups = await listGroups(engine, { ...queue, ...compact({ assignee }), states, limit: count });
      const page = groups.groups;
      const ids = new Map<string, readonly string[]>();
      if (context.isJson) {
        for (const { signature } of page)
          ids.set(signature, await sampleItems(engine, signature, queue.queue));
      }
      const signatures = context.isTerminal ? page.map(({ signature }) => signature) : [];
      return {
        found: groups,
        shown: page,
        samples: ids,
        now: await engine.now(),
        nameOf: await shortSignatures(engine, signatures),
        suggested: context.isJson || !states.includes("open") ? 0 : await countSuggested(engine, queue),
      };
    });
    const { total, leftOut, outdated } = found;
    const document = {
      groups: shown.map((group) => groupToJson(group, samples.get(group.signature) ?? [])),
      total,
      left_out: { ...leftOut },
      outdated: { letters: outdated.letters, algorithms: [...outdated.algorithms] },
      algorithm: ALGORITHM,
    };
    const { paint, columns } = context;
    return context.answer(document, () => groupListText(found, { shown, paint, columns, ...screen }));
  },
});

const show = command({
  summary: "Show a group: letter count, first and last failure, queues, samples, notes, and earlier fixes.",
  examples: ["redrive groups show 160a1b20"],
  arguments: { name: argument("<group>", GROUP) },
  run: async (context, { name }) => {
    const { view, fixes, asked } = await context.withStore(async (engine) => {
      const named = await requireGroup(engine, name);
      const group = await requireLiveGroup(engine, named.signature);
      return {
        view: await viewGroup(engine, group),
        fixes: await readFixes(engine, group.fixes),
        asked: named,
      };
    });
    const { signature } = view.group;
    if (asked.signature !== signature) context.note(`${asked.signature} was merged into ${signature}.`);
    const document = { ...groupViewToJson(view), helped: fixes.map(fixText) };
    return context.answer(document, () => groupText(view, fixes, context));
  },
});

const explain = command({
  summary: "Explain why failures belong to a group.",
  description: "Shows the selected error line, the masks, the stack frames, and similar groups.",
  examples: [
    "redrive groups explain 160a1b20",
    "redrive groups explain order-7 --job nightly",
    "redrive groups explain order-7 --with order-9",
  ],
  arguments: { name: argument("<group-or-item>", `${GROUP}, or an item id`) },
  options: {
    job: ofJob("the item's job"),
    other: text("--with <other>", "show why another group or item is in the same group, or is not"),
  },
  run: async (context, { name, job, other }) => {
    const { groups: rules } = await context.config();
    const { explanation, comparison } = await context.withStore(async (engine) => {
      const explanation = await explainNamed(engine, { name, job, rules });
      const compared =
        other === undefined ? undefined : await explainNamed(engine, { name: other, job, rules });
      return { explanation, comparison: compared && compareGroups(explanation, compared) };
    });
    const document = {
      ...explanationToJson(explanation),
      ...(comparison && { compared_with: comparisonToJson(comparison) }),
    };
    return context.answer(document, () => explanationText(explanation, context, comparison));
  },
});

/** Explains an item if a job is given; otherwise a group takes precedence over an item of the same name. */
async function explainNamed(
  engine: Engine,
  { name, job, rules }: { name: string; job: string | undefined; rules: readonly GroupRule[] },
): Promise<GroupExplanation> {
  if (job !== undefined) return explainLetter(engine, await requireLetter(engine, name, job), rules);
  try {
    return await explainGroup(engine, await requireLiveGroup(engine, name), rules);
  } catch (error) {
    if (!isError(error, "group_not_found")) throw error;
  }
  const letter = await requireLetter(engine, name).catch((error) => {
    if (!isError(error, "item_not_found")) throw error;
    const hint = "List groups: redrive groups list --state all. List letters: redrive dlq list";
    throw userError("group_not_found", `No group or letter is called ${name}.`, hint);
  });
  return explainLetter(engine, letter, rules);
}

const preview = command({
  summary: "Print the signature and pattern of each line of a file; store nothing.",
  description: "Use it to test the grouping on your own logs. With --json it prints one object per line.",
  examples: [
    "redrive groups preview errors.log",
    "journalctl -u shop | redrive groups preview - | sort | uniq -c",
  ],
  arguments: { file: argument("<file>", "JSON Lines with a field `text`, or plain lines; - is stdin") },
  run: async ({ terminal, isJson }, { file }) => {
    const { chunks } = await openInput(file, terminal.stdin);
    const lines = Readable.from(linesOf(chunks, isJson ? jsonLine : textLine), { objectMode: false });
    try {
      await pipeline(lines, terminal.stdout, { end: false });
    } catch (error) {
      const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
      if (code !== "EPIPE") throw error; // the reader closed the pipe, as `head` does
    }
    return EXIT.done;
  },
});

async function* linesOf(chunks: AsyncIterable<Buffer>, toLine: (signature: Signature) => string) {
  for await (const signatures of previewLines(chunks)) yield signatures.map(toLine).join("");
}

function jsonLine({ signature, pattern }: Signature): string {
  return `${JSON.stringify({ signature, pattern })}\n`;
}

function textLine({ signature, pattern }: Signature): string {
  return `${signature}  ${pattern}\n`;
}

export const commands = { list, show, explain, preview };
