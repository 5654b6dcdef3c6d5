/** The text of a `redrive.yml` becomes the settings, or one usage error that lists every problem with its place. */
import { dirname, resolve } from "node:path";
import { WorkError } from "../errors.ts";
import { fitForm } from "../form/fit-form.ts";
import { type Finding, type FormProblem, problemText } from "../form/problem.ts";
import { readYaml } from "../form/read-yaml.ts";
import { parseDuration } from "../kit/duration.ts";
import { isJsonObject, type JsonObject } from "../kit/json.ts";
import type { FixChange, FixRule } from "../redrive/fix-rule.ts";
import type { ClassRule } from "../retry/class-rule.ts";
import type { GroupRule } from "../triage/group-rule.ts";
import { checkClassRules, checkGroups } from "./check-groups.ts";
import {
  type ClassRuleForm,
  type ConfigForm,
  configForm,
  type FixForm,
  type GroupForm,
} from "./config-form.ts";
import { watchFrom } from "./read-watch.ts";
import { type Config, DEFAULT_CONFIG, type LetterSettings } from "./settings.ts";

/** Paths in it are meant from the folder of the file. */
export async function readConfig(text: string, path: string): Promise<Config> {
  const read = readYaml(text, {
    notMapping: "settings are a mapping with keys such as dlq and fixes",
  });
  if (read.raw === undefined) throw refused(path, read.problems([]));
  const { value, findings } = fitForm(configForm, read.raw);
  const problems = read.problems([
    ...findings,
    ...(await checkFixes(read.raw)),
    ...checkGroups(read.raw.groups),
    ...checkClassRules(read.raw.classify),
    ...(await checkWatch(read.raw)),
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
    watch: watchFrom(value.watch ?? {}, folder),
  };
}

/** What reads expressions is loaded only when there are some. */
async function checkFixes(raw: JsonObject): Promise<readonly Finding[]> {
  return Array.isArray(raw.fixes) ? (await import("./check-fixes.ts")).checkFixes(raw.fixes) : [];
}

/** What reads cron patterns is loaded only when there may be one. */
async function checkWatch({ watch }: JsonObject): Promise<readonly Finding[]> {
  return isJsonObject(watch) ? (await import("./check-watch.ts")).checkWatch(watch) : [];
}

function refused(path: string, problems: readonly FormProblem[]): WorkError {
  const list = problems.map((problem) => `  ${problemText(problem, path)}`);
  const count = list.length === 1 ? "a problem" : `${list.length} problems`;
  return new WorkError("usage", `${path} has ${count}:\n${list.join("\n")}`, { hint: "Nothing was done." });
}

function settingsFrom(form: NonNullable<ConfigForm["dlq"]>, folder: string): LetterSettings {
  const defaults = DEFAULT_CONFIG.dlq;
  return {
    maxItems: limitFrom(form.max_items, defaults.maxItems),
    retentionDays: limitFrom(form.retention_days, defaults.retentionDays),
    toxicAfter: limitFrom(form.toxic_after, defaults.toxicAfter),
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
    match: matchFrom(form.match),
    change: changeFrom(form, folder),
    usesMax: form.max_uses ?? 1,
    auto: form.auto ?? false,
  }));
}

function matchFrom({ group, type, class: errorClass, filter }: FixForm["match"]): FixRule["match"] {
  return {
    filter: {
      ...(group !== undefined && { signatures: [group].flat() }),
      ...(type !== undefined && { types: [type].flat() }),
      ...(errorClass !== undefined && { classes: [errorClass].flat() }),
    },
    ...(filter !== undefined && { where: filter }),
  };
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
  return {
    name: name.trim(),
    match: {
      ...(type !== undefined && { types: [type].flat() }),
      ...(errorClass !== undefined && { classes: [errorClass].flat() }),
      ...(step !== undefined && { steps: [step].flat() }),
      ...(text !== undefined && { text }),
      ...(pattern !== undefined && { pattern }),
    },
  };
}

function classRuleFrom({ match, type, class: errorClass }: ClassRuleForm): ClassRule {
  return {
    match: {
      ...(match.type !== undefined && { types: [match.type].flat() }),
      ...(match.exit_code !== undefined && { exitCodes: [match.exit_code].flat() }),
      ...(match.step !== undefined && { steps: [match.step].flat() }),
      ...(match.text !== undefined && { text: match.text }),
      ...(match.pattern !== undefined && { pattern: match.pattern }),
    },
    ...(type !== undefined && { type }),
    ...(errorClass !== undefined && { class: errorClass }),
  };
}
