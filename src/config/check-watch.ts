/**
 * Checks what the form of `watch` cannot express: valid schedules and times, one condition per rule, and known
 * channels.
 */
import { isTimeZone, parseTimeOfDay, scheduleFault } from "../service/alert-schedule.ts";
import { CONDITION_KINDS } from "../service/alert-settings.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { nearest } from "../std/nearest.ts";
import type { Finding } from "../yaml/read-yaml.ts";

type Path = readonly PropertyKey[];

/** Ignores values that do not match the form, which are reported already. */
export async function checkWatch(watch: JsonObject): Promise<readonly Finding[]> {
  const channels = isJsonObject(watch.channels) ? watch.channels : {};
  const rules = Array.isArray(watch.rules) ? watch.rules : [];
  return [
    ...(await checkSchedule(watch.schedule)),
    ...checkZone(watch.time_zone, ["watch", "time_zone"]),
    ...checkQuiet(watch.quiet_hours),
    ...sameNames(rules),
    ...rules.flatMap((rule, index) =>
      isJsonObject(rule) ? checkRule(rule, ["watch", "rules", index], Object.keys(channels)) : [],
    ),
    ...Object.entries(channels).flatMap(([name, channel]) =>
      isJsonObject(channel) ? checkChannel(name, channel) : [],
    ),
  ];
}

async function checkSchedule(schedule: Json | undefined): Promise<Finding[]> {
  if (typeof schedule !== "string" || schedule.trim() === "") return [];
  const fault = await scheduleFault(schedule);
  return fault === null ? [] : [{ path: ["watch", "schedule"], message: fault }];
}

function checkZone(zone: Json | undefined, path: Path): Finding[] {
  if (typeof zone !== "string" || zone.trim() === "" || isTimeZone(zone)) return [];
  const suggestion = nearest(zone, Intl.supportedValuesOf("timeZone"));
  return [{ path, message: "there is no such time zone", suggestion }];
}

function checkQuiet(quiet: Json | undefined): Finding[] {
  if (!isJsonObject(quiet)) return [];
  const path = ["watch", "quiet_hours"];
  const wrong = (["from", "to"] as const).filter(
    (key) => typeof quiet[key] === "string" && parseTimeOfDay(quiet[key] as string) === undefined,
  );
  const findings = wrong.map((key) => ({
    path: [...path, key],
    message: "expected a time of day, such as 22:00",
  }));
  const isAlways = wrong.length === 0 && quiet.from !== undefined && quiet.from === quiet.to;
  return [
    ...findings,
    ...(isAlways ? [{ path, message: "it would be quiet for ever: from and to are the same" }] : []),
    ...checkZone(quiet.time_zone, [...path, "time_zone"]),
  ];
}

function sameNames(rules: readonly Json[]): Finding[] {
  const names = rules.map((rule) =>
    isJsonObject(rule) && typeof rule.name === "string" ? rule.name.trim() : undefined,
  );
  return names.flatMap((name, index) =>
    name !== undefined && names.indexOf(name) < index
      ? [
          {
            path: ["watch", "rules", index, "name"],
            message: `there is another rule with the name "${name}"`,
          },
        ]
      : [],
  );
}

function checkRule(rule: JsonObject, path: Path, channels: readonly string[]): Finding[] {
  return [
    ...oneCondition(rule, path),
    ...queuesOfStore(rule, path),
    ...[rule.channels ?? []].flat().flatMap((name) => unknownChannel(name as Json, path, channels)),
  ];
}

function oneCondition(rule: JsonObject, path: Path): Finding[] {
  const [first, ...others] = CONDITION_KINDS.filter((key) => key in rule);
  if (first === undefined) {
    return [{ path, message: `a rule needs one of ${CONDITION_KINDS.join(", ")}`, lacks: CONDITION_KINDS }];
  }
  return others.map((key) => ({
    path: [...path, key],
    atKey: true,
    message: `a rule looks for one thing, and this one has ${first} already`,
  }));
}

function queuesOfStore(rule: JsonObject, path: Path): Finding[] {
  if (!("store_unhealthy" in rule && "queues" in rule)) return [];
  return [{ path: [...path, "queues"], atKey: true, message: "the store has no queues to choose from here" }];
}

function unknownChannel(name: Json, path: Path, channels: readonly string[]): Finding[] {
  if (typeof name !== "string" || name.trim() === "" || channels.includes(name)) return [];
  const message = `there is no channel "${name}"`;
  return [{ path: [...path, "channels"], message, word: name, suggestion: nearest(name, channels) }];
}

/** The keys that each type needs and those that it does not use. */
const NEEDS: Readonly<
  Record<string, { readonly oneOf: readonly string[]; readonly not: readonly string[] }>
> = {
  teams: { oneOf: ["url", "url_env"], not: ["command", "headers_env"] },
  slack: { oneOf: ["url", "url_env"], not: ["command", "headers_env"] },
  webhook: { oneOf: ["url", "url_env"], not: ["command"] },
  command: { oneOf: ["command"], not: ["url", "url_env", "headers_env"] },
};

function checkChannel(name: string, channel: JsonObject): Finding[] {
  const path = ["watch", "channels", name];
  const type = String(channel.type);
  const needs = NEEDS[type];
  if (needs === undefined) return [];
  const given = needs.oneOf.filter((key) => key in channel);
  const [, ...others] = given;
  return [
    ...(/^[\p{L}\p{N}][\p{L}\p{N} ._-]*$/u.test(name)
      ? []
      : [{ path, atKey: true, message: "a channel is called by letters, digits, dots and dashes" }]),
    ...(given.length === 0
      ? [{ path, message: `${type} needs ${needs.oneOf.join(" or ")}`, lacks: needs.oneOf }]
      : []),
    ...others.map((key) => ({
      path: [...path, key],
      atKey: true,
      message: `there is ${given[0]} already`,
    })),
    ...needs.not
      .filter((key) => key in channel)
      .map((key) => ({
        path: [...path, key],
        atKey: true,
        message: `${key} means nothing to ${type}`,
      })),
    ...badUrl(channel.url, [...path, "url"]),
  ];
}

function badUrl(url: Json | undefined, path: Path): Finding[] {
  if (typeof url !== "string" || url.trim() === "") return [];
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  return isHttp ? [] : [{ path, message: "expected a URL that begins with https:// or http://" }];
}
