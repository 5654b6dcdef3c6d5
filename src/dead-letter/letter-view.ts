/** Everything that is shown for one letter: its history, its links and its agents. Read-only. */
import { type Engine, type LetterAddress, STORED_TEXTS, type StoredLetter } from "../engine.ts";
import { type AgentRun, agentRunToJson, sumOfRuns, usageToJson } from "../item/agent-run.ts";
import { eventToJson } from "../item/event.ts";
import { groupRecordToJson } from "../item/group.ts";
import { LETTER_FIELDS, letterFieldsToJson, letterToJson } from "../item/letter.ts";
import { type JsonObject, stringifyJson } from "../std/json.ts";
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

export function letterViewToJson(view: LetterView): JsonObject {
  return { ...letterToJson(view.letter), ...shownWith(view) };
}

/** Writes the JSON text of `letterViewToJson`. */
export function letterViewToText(view: LetterView): string {
  return `${letterToText(view.letter).slice(0, -1)},${stringifyJson(shownWith(view)).slice(1)}`;
}

function shownWith({ history, links, agents }: LetterView): JsonObject {
  return {
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

/** Writes the JSON text of `letterToJson` with the stored texts, which costs less than parsing and writing them. */
export function letterToText(letter: StoredLetter): string {
  const texts = letter[STORED_TEXTS]?.() ?? null;
  if (texts === null) return stringifyJson(letterToJson(letter));
  const write = (fields: readonly string[]) => stringifyJson(letterFieldsToJson(letter, fields)).slice(1, -1);
  return `{${write(FIRST)},"item_data":${texts.data},${write(MIDDLE)},"failure_history":[${texts.failures.join()}],${write(LAST)}}`;
}

const DATA = LETTER_FIELDS.indexOf("item_data");
const HISTORY = LETTER_FIELDS.indexOf("failure_history");
const FIRST = LETTER_FIELDS.slice(0, DATA);
const MIDDLE = LETTER_FIELDS.slice(DATA + 1, HISTORY);
const LAST = LETTER_FIELDS.slice(HISTORY + 1);
