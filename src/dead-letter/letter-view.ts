/** Everything that is shown for one letter: its history, its links and its agents. Read-only. */
import type { Engine, LetterAddress, StoredLetter } from "../engine.ts";
import { type AgentRun, agentRunToJson, sumOfRuns, usageToJson } from "../item/agent-run.ts";
import { eventToJson } from "../item/event.ts";
import { groupRecordToJson } from "../item/group.ts";
import { letterToJson } from "../item/letter.ts";
import type { JsonObject } from "../std/json.ts";
import { type LetterHistory, type LetterLinks, linksToJson, readHistory } from "./history.ts";

export interface LetterView {
  readonly letter: StoredLetter;
  readonly history: LetterHistory;
  readonly links: LetterLinks;
  /** The agents that ran for the item, oldest first. */
  readonly agents: readonly AgentRun[];
}

/** Returns null if the item does not exist or is not a letter. */
export async function readLetterView(engine: Engine, address: LetterAddress): Promise<LetterView | null> {
  const records = await engine.readLetterRecords(address);
  if (records === null) return null;
  const { letter, links, agentRuns } = records;
  return { letter, history: await readHistory(engine, records), links, agents: agentRuns };
}

export function letterViewToJson({ letter, history, links, agents }: LetterView): JsonObject {
  return {
    ...letterToJson(letter),
    ...linksToJson(links),
    group_count: history.groupCount,
    group: history.group && groupRecordToJson(history.group),
    events: history.events.map(eventToJson),
    ...(agents.length > 0 && {
      usage: usageToJson(sumOfRuns(agents)),
      agent_runs: agents.map(agentRunToJson),
    }),
  };
}
