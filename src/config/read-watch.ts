/** From the form of `watch:` to what a watcher is told. It has been checked. */
import { parseDuration } from "../kit/duration.ts";
import { parseTimeOfDay } from "../watch/quiet-hours.ts";
import {
  type AlertRule,
  type Channel,
  COOL_DOWN_MS,
  type Condition,
  DEFAULT_RULES,
  DEFAULT_WATCH,
  type QuietHours,
  type UrlSource,
  type WatchSettings,
} from "../watch/settings.ts";
import type { ChannelForm, RuleForm, WatchForm } from "./watch-form.ts";

/** A command runs in the folder of the settings. */
export function watchFrom(form: WatchForm, folder: string): WatchSettings {
  const coolDownMs = msOf(form.cool_down, COOL_DOWN_MS);
  const rules = form.rules?.map((rule) => ruleFrom(rule, coolDownMs));
  return {
    schedule: form.schedule ?? DEFAULT_WATCH.schedule,
    ...zone(form.time_zone),
    onArrival: form.on_arrival ?? DEFAULT_WATCH.onArrival,
    gatherMs: msOf(form.gather, DEFAULT_WATCH.gatherMs),
    recovery: form.recovery ?? DEFAULT_WATCH.recovery,
    ...(form.quiet_hours && { quietHours: quietFrom(form.quiet_hours, form.time_zone) }),
    rules: withNames(rules ?? DEFAULT_RULES.map((rule) => ({ ...rule, coolDownMs }))),
    channels: Object.entries(form.channels ?? {}).map(([name, channel]) =>
      channelFrom(name, channel, folder),
    ),
  };
}

function zone(timeZone: string | undefined): { timeZone?: string } {
  return timeZone === undefined ? {} : { timeZone };
}

function msOf(given: string | number | undefined, byDefault: number): number {
  return given === undefined ? byDefault : parseDuration(String(given), "watch");
}

function quietFrom(form: NonNullable<WatchForm["quiet_hours"]>, timeZone: string | undefined): QuietHours {
  return {
    from: parseTimeOfDay(form.from) ?? 0,
    to: parseTimeOfDay(form.to) ?? 0,
    ...zone(form.time_zone ?? timeZone),
  };
}

function ruleFrom(form: RuleForm, coolDownMs: number): AlertRule {
  const queues = [form.queues ?? []].flat();
  const about = queues.length === 0 ? "" : ` of ${queues.join(", ")}`;
  return {
    name: form.name?.trim() ?? `${conditionText(form)}${about}`,
    condition: conditionFrom(form),
    queues,
    severity: form.severity ?? "warning",
    ...(form.channels !== undefined && { channels: [form.channels].flat() }),
    coolDownMs: msOf(form.cool_down, coolDownMs),
  };
}

/** Rules that look for the same in the same queues differ in whom they tell; their alerts are told apart by a number. */
function withNames(rules: readonly AlertRule[]): readonly AlertRule[] {
  const taken = new Set<string>();
  return rules.map((rule) => {
    let { name } = rule;
    for (let number = 2; taken.has(name); number += 1) name = `${rule.name} (${number})`;
    taken.add(name);
    return { ...rule, name };
  });
}

function conditionText(form: RuleForm): string {
  if (form.depth !== undefined) return `depth ${form.depth}`;
  if (form.oldest !== undefined) return `oldest ${form.oldest}`;
  if (form.arrival_rate !== undefined) return `arrival_rate ${form.arrival_rate.replace(/\s/g, "")}`;
  return conditionFrom(form).kind;
}

function conditionFrom(form: RuleForm): Condition {
  if (form.depth !== undefined) return { kind: "depth", letters: form.depth };
  if (form.oldest !== undefined) return { kind: "oldest", ageMs: msOf(form.oldest, 0) };
  if (form.arrival_rate !== undefined) return parseArrivalRate(form.arrival_rate);
  if (form.new_group) return { kind: "new_group" };
  return form.breaker_open ? { kind: "breaker_open" } : { kind: "store_unhealthy" };
}

/** `20/10m`, or `100/h` for one hour. */
function parseArrivalRate(text: string): Condition {
  const [letters = "1", within = "1m"] = text.split("/").map((part) => part.trim());
  const time = /^\d/.test(within) ? within : `1${within}`;
  return { kind: "arrival_rate", letters: Number(letters), withinMs: parseDuration(time, "arrival_rate") };
}

const TIMEOUT_MS = 10_000;

function channelFrom(name: string, form: ChannelForm, folder: string): Channel {
  const common = { name, timeoutMs: msOf(form.timeout, TIMEOUT_MS) };
  const to: UrlSource =
    form.url_env === undefined ? { url: form.url?.trim() ?? "" } : { urlEnv: form.url_env };
  switch (form.type) {
    case "teams":
    case "slack":
      return { ...common, type: form.type, to };
    case "webhook":
      return { ...common, type: "webhook", to, headersEnv: form.headers_env ?? {} };
    case "command": {
      const [program = "", ...args] = form.command ?? [];
      return { ...common, type: "command", command: [program, ...args], cwd: folder };
    }
  }
}
