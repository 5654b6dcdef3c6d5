/** Parses `redrive.yml` into settings, or throws one usage error that lists every problem with its position. */
import { dirname, resolve } from "node:path";
import type { Prices } from "../agent/prices.ts";
import { RedriveError } from "../errors.ts";
import type { FixChange, FixRule } from "../redrive/fix.ts";
import type { ClassRule } from "../retry/class-rule.ts";
import { parseTimeOfDay } from "../service/alert-schedule.ts";
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
} from "../service/alert-settings.ts";
import { parseDuration } from "../std/duration.ts";
import { compact, isJsonObject } from "../std/json.ts";
import type { GroupRule } from "../triage/grouping.ts";
import { checkForm } from "../yaml/form.ts";
import { type FormProblem, problemText, readYaml } from "../yaml/read-yaml.ts";
import { checkClassRules, checkGroups } from "./check-rules.ts";
import {
  type ChannelForm,
  type ClassRuleForm,
  type ConfigForm,
  configForm,
  type FixForm,
  type GroupForm,
  type RuleForm,
  type WatchForm,
} from "./config-form.ts";
import { type Config, DEFAULT_CONFIG, type LetterSettings, type LoginSettings } from "./settings.ts";

/** Resolves relative paths against the folder of the file. */
export async function readConfig(text: string, path: string): Promise<Config> {
  const read = readYaml(text, {
    notMapping: "settings must be a mapping with keys such as dlq and fixes",
  });
  if (read.raw === undefined) throw refused(path, read.problems([]));
  const { value, findings } = checkForm(configForm, read.raw);
  const { fixes, groups, classify, watch } = read.raw;
  const problems = read.problems([
    ...findings,
    // CEL and cron patterns are loaded only when they are needed.
    ...(fixes === undefined ? [] : (await import("./check-fixes.ts")).checkFixes(fixes)),
    ...checkGroups(groups),
    ...checkClassRules(classify),
    ...(isJsonObject(watch) ? await (await import("./check-watch.ts")).checkWatch(watch) : []),
  ]);
  if (value === undefined || problems.length > 0) throw refused(path, problems);
  const folder = dirname(path);
  return {
    dlq: settingsFrom(value.dlq ?? {}, folder),
    jobs: {
      retentionDays: limitFrom(value.jobs?.retention_days, DEFAULT_CONFIG.jobs.retentionDays),
      logRetentionDays: limitFrom(value.jobs?.log_retention_days, DEFAULT_CONFIG.jobs.logRetentionDays),
    },
    fixes: rulesFrom(value.fixes ?? [], folder),
    groups: (value.groups ?? []).map(groupRuleFrom),
    classify: (value.classify ?? []).map(classRuleFrom),
    prices: Object.fromEntries(
      Object.entries(value.prices ?? {}).map(([name, price]) => [name, compact(price)]),
    ) as Prices,
    redact: (value.redact ?? []).map(({ paths, below = "admin" }) => ({ paths: [paths].flat(), below })),
    ...(value.login !== undefined && { login: loginFrom(value.login, folder) }),
    work: (value.work ?? []).map(({ concurrency, ...work }) => ({ ...work, ...compact({ concurrency }) })),
    watch: watchFrom(value.watch ?? {}, folder),
  };
}

const SESSION = "8h";

function loginFrom(form: NonNullable<ConfigForm["login"]>, folder: string): LoginSettings {
  const { issuer, client_id: clientId, client_secret: secret, url, roles } = form;
  const clientSecret = secret && ("file" in secret ? { file: resolve(folder, secret.file) } : secret);
  return {
    ...{ issuer, clientId, url: url.replace(/\/+$/, "") },
    ...(clientSecret && { clientSecret }),
    scopes: form.scopes ?? ["openid", "profile", "email"],
    nameClaim: form.name_claim ?? "email",
    roleClaim: form.role_claim ?? "groups",
    roles: compact({
      viewer: listFrom(roles.viewer),
      operator: listFrom(roles.operator),
      admin: listFrom(roles.admin),
    }),
    sessionMs: parseDuration(String(form.session ?? SESSION), "session"),
  };
}

function refused(path: string, problems: readonly FormProblem[]): RedriveError {
  const list = problems.map((problem) => `  ${problemText(problem, path)}`);
  const count = list.length === 1 ? "a problem" : `${list.length} problems`;
  return new RedriveError("usage", `${path} has ${count}:\n${list.join("\n")}`, {
    hint: "Correct the file and run the command again. Nothing was done.",
  });
}

function settingsFrom(form: NonNullable<ConfigForm["dlq"]>, folder: string): LetterSettings {
  const defaults = DEFAULT_CONFIG.dlq;
  return {
    maxItems: limitFrom(form.max_items, defaults.maxItems),
    retentionDays: limitFrom(form.retention_days, defaults.retentionDays),
    poisonAfter: limitFrom(form.poison_after ?? form.toxic_after, defaults.poisonAfter),
    mirror: form.mirror ?? defaults.mirror,
    ...(form.dir !== undefined && { dlqDir: resolve(folder, form.dir) }),
  };
}

function limitFrom(given: number | "none" | undefined, byDefault: number | null): number | null {
  return given === "none" ? null : (given ?? byDefault);
}

function rulesFrom(forms: readonly FixForm[], folder: string): readonly FixRule[] {
  return forms.map((form) => ({
    name: form.name,
    match: compact({
      filter: compact({
        signatures: listFrom(form.match.group),
        types: listFrom(form.match.type),
        classes: listFrom(form.match.class),
      }),
      where: form.match.filter,
    }),
    change: changeFrom(form, folder),
    usesMax: form.max_uses ?? 1,
    auto: form.auto ?? false,
  }));
}

function listFrom<T>(given: T | readonly T[] | undefined): readonly T[] | undefined {
  return given === undefined ? undefined : ([given].flat() as readonly T[]);
}

const COMMAND_TIMEOUT = "30s";

function changeFrom({ set, patch, command, timeout }: FixForm, folder: string): FixChange {
  if (set !== undefined) return { kind: "set", set };
  if (patch !== undefined) return { kind: "patch", patch };
  const [program = "", ...args] = command ?? [];
  return {
    kind: "command",
    command: [program, ...args],
    cwd: folder,
    timeoutMs: parseDuration(String(timeout ?? COMMAND_TIMEOUT), "timeout"),
  };
}

function groupRuleFrom({ name, match }: GroupForm): GroupRule {
  const { type, class: errorClass, step, text, pattern } = match;
  const lists = { types: listFrom(type), classes: listFrom(errorClass), steps: listFrom(step) };
  return { name: name.trim(), match: compact({ ...lists, text, pattern }) };
}

function classRuleFrom({ match, type, class: errorClass }: ClassRuleForm): ClassRule {
  const { text, pattern } = match;
  const lists = {
    types: listFrom(match.type),
    exitCodes: listFrom(match.exit_code),
    steps: listFrom(match.step),
  };
  return compact({ match: compact({ ...lists, text, pattern }), type, class: errorClass });
}

/** Converts the `watch` section. Commands run in the folder of the settings. */
function watchFrom(form: WatchForm, folder: string): WatchSettings {
  const coolDownMs = msOf(form.cool_down, COOL_DOWN_MS);
  const rules = form.rules?.map((rule) => ruleFrom(rule, coolDownMs));
  return compact({
    schedule: form.schedule ?? DEFAULT_WATCH.schedule,
    timeZone: form.time_zone,
    onArrival: form.on_arrival ?? DEFAULT_WATCH.onArrival,
    gatherMs: msOf(form.gather, DEFAULT_WATCH.gatherMs),
    recovery: form.recovery ?? DEFAULT_WATCH.recovery,
    quietHours: form.quiet_hours && quietFrom(form.quiet_hours, form.time_zone),
    rules: withNames(rules ?? DEFAULT_RULES.map((rule) => ({ ...rule, coolDownMs }))),
    channels: Object.entries(form.channels ?? {}).map(([name, channel]) =>
      channelFrom(name, channel, folder),
    ),
  });
}

function msOf(given: string | number | undefined, byDefault: number): number {
  return given === undefined ? byDefault : parseDuration(String(given), "watch");
}

function quietFrom(form: NonNullable<WatchForm["quiet_hours"]>, timeZone: string | undefined): QuietHours {
  const [from = 0, to = 0] = [form.from, form.to].map(parseTimeOfDay);
  return compact({ from, to, timeZone: form.time_zone ?? timeZone });
}

function ruleFrom(form: RuleForm, coolDownMs: number): AlertRule {
  const queues = [form.queues ?? []].flat();
  const about = queues.length === 0 ? "" : ` of ${queues.join(", ")}`;
  return compact({
    name: form.name?.trim() ?? `${conditionText(form)}${about}`,
    condition: conditionFrom(form),
    queues,
    severity: form.severity ?? "warning",
    channels: listFrom(form.channels),
    coolDownMs: msOf(form.cool_down, coolDownMs),
  });
}

/** Adds numbers to names, because rules with the same condition and queues may differ only in their channels. */
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

/** Parses `20/10m`, or `100/h` for one hour. */
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
