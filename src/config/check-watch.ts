/** Checks `watch` beyond the schema: valid schedules and times, one condition per rule, known channels. */
import { isTimeZone, parseTimeOfDay, scheduleFault } from "../service/alert-schedule.ts";
import { CONDITION_KINDS } from "../service/alert-settings.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { nearest } from "../std/nearest.ts";
import type { Finding } from "../yaml/read-yaml.ts";
import { atKey, checkOneKey, eachObject, isText, type Path, repeatedNames } from "./check-rules.ts";

export async function checkWatch(watch: JsonObject): Promise<readonly Finding[]> {
  const channels = isJsonObject(watch.channels) ? watch.channels : {};
  const names = Object.keys(channels);
  return [
    ...(await checkSchedule(watch.schedule)),
    ...checkZone(watch.time_zone, ["watch", "time_zone"]),
    ...checkQuiet(watch.quiet_hours),
    ...repeatedNames(watch.rules, ["watch", "rules"], "rule"),
    ...eachObject(watch.rules, ["watch", "rules"], (rule, path) => checkRule(rule, path, names)),
    ...names.flatMap((name) => checkChannel(name, channels[name])),
  ];
}

async function checkSchedule(schedule: Json | undefined): Promise<readonly Finding[]> {
  const fault = isText(schedule) ? await scheduleFault(schedule) : null;
  return fault === null ? [] : [{ path: ["watch", "schedule"], message: fault }];
}

function checkZone(zone: Json | undefined, path: Path): readonly Finding[] {
  if (!isText(zone) || isTimeZone(zone)) return [];
  const suggestion = nearest(zone, Intl.supportedValuesOf("timeZone"));
  return [{ path, message: "unknown time zone", suggestion }];
}

function checkQuiet(quiet: Json | undefined): readonly Finding[] {
  if (!isJsonObject(quiet)) return [];
  const path = ["watch", "quiet_hours"];
  const wrong = (["from", "to"] as const).filter(
    (key) => typeof quiet[key] === "string" && parseTimeOfDay(quiet[key]) === undefined,
  );
  const isAlways = wrong.length === 0 && quiet.from !== undefined && quiet.from === quiet.to;
  return [
    ...wrong.map((key) => ({ path: [...path, key], message: "expected a time of day, such as 22:00" })),
    ...(isAlways ? [{ path, message: "from and to are the same, so the quiet hours would never end" }] : []),
    ...checkZone(quiet.time_zone, [...path, "time_zone"]),
  ];
}

function checkRule(rule: JsonObject, path: Path, channels: readonly string[]): readonly Finding[] {
  return [
    ...checkOneKey(rule, path, CONDITION_KINDS, {
      none: `a rule needs one of ${CONDITION_KINDS.join(", ")}`,
      more: (first) => `a rule can have only one condition, and this one already has ${first}`,
    }),
    ...("store_unhealthy" in rule && "queues" in rule
      ? [atKey([...path, "queues"], "queues has no effect for store_unhealthy")]
      : []),
    ...[rule.channels ?? []].flat().flatMap((name) => unknownChannel(name as Json, path, channels)),
  ];
}

function unknownChannel(name: Json, path: Path, channels: readonly string[]): readonly Finding[] {
  if (!isText(name) || channels.includes(name)) return [];
  const message = `there is no channel "${name}"`;
  return [{ path: [...path, "channels"], message, word: name, suggestion: nearest(name, channels) }];
}

/** For each channel type, the keys of which exactly one is required, and the keys that it does not use. */
const KEYS_OF_TYPE: Readonly<
  Record<string, readonly [needed: readonly string[], unused: readonly string[]]>
> = {
  teams: [
    ["url", "url_env"],
    ["command", "headers_env"],
  ],
  slack: [
    ["url", "url_env"],
    ["command", "headers_env"],
  ],
  webhook: [["url", "url_env"], ["command"]],
  command: [["command"], ["url", "url_env", "headers_env"]],
};

function checkChannel(name: string, channel: Json | undefined): readonly Finding[] {
  const path = ["watch", "channels", name];
  if (!isJsonObject(channel)) return [];
  const type = String(channel.type);
  const [needed, unused] = KEYS_OF_TYPE[type] ?? [];
  if (needed === undefined || unused === undefined) return [];
  return [
    ...(/^[\p{L}\p{N}][\p{L}\p{N} ._-]*$/u.test(name)
      ? []
      : [atKey(path, "the name of a channel consists of letters, digits, dots and dashes")]),
    ...checkOneKey(channel, path, needed, {
      none: `${type} needs ${needed.join(" or ")}`,
      more: (first) => `${first} is already set`,
    }),
    ...unused
      .filter((key) => key in channel)
      .map((key) => atKey([...path, key], `${key} has no effect for ${type}`)),
    ...(isText(channel.url) && !isHttpUrl(channel.url)
      ? [{ path: [...path, "url"], message: "expected a URL that begins with https:// or http://" }]
      : []),
  ];
}

function isHttpUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
