/** `redrive groups list`: groups over all jobs, largest first. */
import { WorkError } from "../../errors.ts";
import { GROUP_STATES, type GroupState } from "../../item/group.ts";
import { requireJob } from "../../job/find-job.ts";
import { groupToJson, listGroups, sampleItems } from "../../redrive/groups.ts";
import { ALGORITHM } from "../../triage/signature.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { groupListText } from "../group-text.ts";
import { words } from "../list-words.ts";
import { countOption } from "../option.ts";
import { shortSignatures } from "../short-names.ts";

interface ListFlags {
  readonly job?: string;
  readonly state?: readonly string[];
  readonly limit?: string;
}

const PAGE_DEFAULT = 20;

export async function groupsList(context: Context, flags: ListFlags): Promise<number> {
  const states = readStates(flags.state);
  const limit = countOption("--limit", flags.limit, 1) ?? PAGE_DEFAULT;
  const { list, shown, samples, now, nameOf } = await context.withStore(async (engine) => {
    const queue = flags.job === undefined ? {} : { queue: (await requireJob(engine, flags.job)).id };
    const found = await listGroups(engine, { ...queue, states });
    const page = found.groups.slice(0, limit);
    const ids = new Map<string, readonly string[]>();
    if (context.isJson) {
      for (const { signature } of page) ids.set(signature, await sampleItems(engine, signature, queue.queue));
    }
    const signatures = context.isTerminal ? page.map(({ signature }) => signature) : [];
    return {
      list: found,
      shown: page,
      samples: ids,
      now: await engine.now(),
      nameOf: await shortSignatures(engine, signatures),
    };
  });
  const { groups, leftOut, outdated } = list;
  const document = {
    groups: shown.map((group) => groupToJson(group, samples.get(group.signature) ?? [])),
    total: groups.length,
    left_out: { ...leftOut },
    outdated: { letters: outdated.letters, algorithms: [...outdated.algorithms] },
    algorithm: ALGORITHM,
  };
  const { paint, columns } = context;
  context.answer(document, () => groupListText(list, { shown, now, paint, columns, nameOf }));
  return EXIT.done;
}

function readStates(given: readonly string[] | undefined): readonly GroupState[] {
  if (given === undefined) return ["open"];
  return words(given).flatMap((word) => {
    if (word.toLowerCase() === "all") return GROUP_STATES;
    const found = GROUP_STATES.find((state) => state === word.toLowerCase());
    if (found !== undefined) return [found];
    throw new WorkError("filter_invalid", `--state: no group is "${word}".`, {
      hint: `There are: ${GROUP_STATES.join(", ")}, all.`,
    });
  });
}
