/** `redrive groups merge|split|corrections|rebuild|resolve|ignore|open|assign|note`: commands that change groups. */
import type { Engine } from "../../engine.ts";
import type { Correction, GroupChange, GroupRecord } from "../../item/group.ts";
import { LETTER_STATES } from "../../item/state.ts";
import { requireJob } from "../../queue/find-job.ts";
import { assignGroups } from "../../redrive/assignees.ts";
import {
  mergeGroups,
  rebuildGroups,
  removeCorrection,
  requireCorrection,
  splitGroup,
} from "../../redrive/correct-groups.ts";
import {
  type GroupView,
  groupViewToJson,
  requireGroup,
  requireLiveGroup,
  viewGroup,
} from "../../redrive/groups.ts";
import { fromRfc3339, toRfc3339 } from "../../std/clock.ts";
import { parseDuration } from "../../std/duration.ts";
import type { JsonObject } from "../../std/json.ts";
import { ALGORITHM, type Signature } from "../../triage/signature.ts";
import { titleLine, titleToJson } from "../../triage/title.ts";
import { argument, type Commands, command } from "../command.ts";
import type { Context } from "../context.ts";
import { userError } from "../exit-code.ts";
import { count, dryRun, note, ofJob, required, requireText, text, value, word, yes } from "../options.ts";
import { stateText } from "../render/group.ts";
import { table } from "../render/layout.ts";
import { clean, counted, lettersText, minuteText, thousands } from "../render/text.ts";

import { GROUP } from "./groups.ts";

const GROUPS = "signatures, unique prefixes, or names";

const merge = command({
  summary: "Merge groups into one. This also applies to later failures.",
  examples: ["redrive groups merge 160a1b20 7c2d --into 9f03"],
  arguments: { names: argument("<groups...>", GROUPS) },
  options: { into: required(word("--into <group>", "the group to merge into")), yes },
  run: (context, { names, into: name, yes: isAgreed }) =>
    context.withStore(async (engine) => {
      const into = await requireGroup(engine, name);
      const groups = [];
      for (const one of names) groups.push(await requireGroup(engine, one));
      if (groups.some(({ signature }) => signature === into.signature))
        throw userError("usage", `${into.signature} cannot be merged into itself.`, "Name other groups.");
      const title = ({ pattern }: Corrected) => `  ${clean(titleLine(pattern))}\n`;
      const question = `Merge\n${groups.map(title).join("")}into\n${title(into)}for existing and later failures?`;
      if (!isAgreed) await context.confirm(question);
      const result = await mergeGroups(engine, { groups, into }, correctingBy(context));
      const merged = groups.map(({ signature }) => signature);
      return answerCorrected(context, "Merged into", { ...result, more: { merged } });
    }),
});

const split = command({
  summary:
    "Split off the failures of a group whose message contains a text. This also applies to later failures.",
  examples: ["redrive groups split 160a1b20 --text 'eu-west' --name 'timeouts in eu-west'"],
  arguments: { group: argument("<group>", GROUP) },
  options: {
    text: required(text("--text <text>", "a text that the message contains, ignoring case")),
    name: text("--name <name>", "the name of the new group (default: the pattern and the text)"),
    yes,
  },
  run: (context, { group: word, yes: isAgreed, ...named }) =>
    context.withStore(async (engine) => {
      const group = await requireLiveGroup(engine, word);
      const { signature: from } = group;
      const filter = { signatures: [from], states: LETTER_STATES, limit: 0 };
      const { total } = await engine.listLetters({ ...filter, text: named.text });
      const question = `Split ${lettersText(total)} with "${clean(named.text)}" off ${from}, and later ones?`;
      if (!isAgreed) await context.confirm(question);
      const result = await splitGroup(engine, group, { ...correctingBy(context), ...named });
      return answerCorrected(context, "Split off as", { ...result, more: { from, text: named.text } });
    }),
});

type Corrected = Pick<Signature, "signature" | "pattern">;

function correctingBy(context: Context) {
  return { author: context.author, onProgress: progressNotes(context) };
}

function answerCorrected(
  context: Context,
  did: string,
  { target, moved, more }: { target: Corrected; moved: number; more: JsonObject },
): number {
  const { signature, pattern } = target;
  return context.answer(
    { signature, ...titleToJson(pattern), pattern, ...more, moved },
    () =>
      `${did} ${signature}: ${clean(titleLine(pattern))}\nMoved ${lettersText(moved)}; later ones will follow.\n`,
  );
}

const PROGRESS_EVERY = 10_000;

function progressNotes(context: Context): (letters: number) => void {
  let next = PROGRESS_EVERY;
  return (letters) => {
    if (letters < next) return;
    context.note(`${thousands(letters)} letters checked`);
    next = letters + PROGRESS_EVERY;
  };
}

const corrections = command({
  summary: "List merges and splits, or remove one.",
  examples: ["redrive groups corrections", "redrive groups corrections --remove 2"],
  options: {
    remove: count(
      "--remove <n>",
      "remove this correction; then regroup the letters: redrive groups rebuild",
      1,
    ),
  },
  run: async (context, { remove }) => {
    const { removed, all } = await context.withStore(async (engine) => {
      const found = remove === undefined ? null : await requireCorrection(engine, remove);
      if (found !== null) await removeCorrection(engine, found);
      return { removed: found, all: await engine.listCorrections() };
    });
    const list = all.map((one, index) => ({ number: index + 1, ...correctionToJson(one) }));
    const document = { corrections: list, ...(removed && { removed: correctionToJson(removed) }) };
    return context.answer(document, () => (removed ? removedText(removed) : correctionsText(context, all)));
  },
});

function correctionToJson({ from, text: wanted, to, pattern, author, at }: Correction): JsonObject {
  const kind = wanted === undefined ? { kind: "merge", from } : { kind: "split", from, text: wanted };
  return { ...kind, to, ...titleToJson(pattern), pattern, author, at: toRfc3339(at) };
}

function removedText({ from, to, text: wanted }: Correction): string {
  const merged = `${from} is no longer merged into ${to}`;
  const what = wanted === undefined ? merged : `"${clean(wanted)}" is no longer split off ${from}`;
  return `${what}.\nTo regroup the existing letters: redrive groups rebuild\n`;
}

function correctionsText({ columns }: Context, all: readonly Correction[]): string {
  if (all.length === 0) return "No merges and no splits.\n";
  return table(
    all.map((one, index) => ({ ...one, number: index + 1 })),
    [
      { title: "NO", value: ({ number }) => number },
      { title: "KIND", value: ({ text: wanted }) => (wanted === undefined ? "merge" : "split") },
      { title: "FROM", value: ({ from }) => from },
      { title: "TEXT", value: ({ text: wanted }) => wanted, cutTo: 12 },
      { title: "TO", value: ({ to }) => to },
      { title: "AT", value: ({ at }) => minuteText(at), giveUp: 1 },
      { title: "BY", value: ({ author }) => author, giveUp: 2 },
      { title: "INTO", value: ({ pattern }) => titleLine(pattern) },
    ],
    columns,
  );
}

const rebuild = command({
  summary: "Regroup all letters with the current algorithm, the rules in redrive.yml and the corrections.",
  examples: ["redrive groups rebuild --dry-run", "redrive groups rebuild --job nightly --yes"],
  options: { job: ofJob("regroup only letters of this job"), dryRun, yes },
  run: async (context, { job, dryRun: isPreview, yes: isAgreed }) => {
    const { groups: rules } = await context.config();
    const rebuilt = await context.withStore(async (engine) => {
      const queue = job === undefined ? {} : { queue: (await requireJob(engine, job)).id };
      if (!isPreview && !isAgreed) await context.confirm("Regroup all letters?");
      const onProgress = progressNotes(context);
      return rebuildGroups(engine, { ...queue, rules, onProgress, dryRun: isPreview });
    });
    const { letters, changed, groupsBefore, groupsAfter } = rebuilt;
    const counts = { letters, changed, groups_before: groupsBefore, groups_after: groupsAfter };
    const groups = `${counted(groupsBefore, "group")} before, ${groupsAfter} after`;
    const moves = isPreview ? "would change their group" : "changed their group";
    return context.answer(
      { dry_run: isPreview, ...counts, algorithm: ALGORITHM },
      () => `${changed} of ${lettersText(letters)} ${moves}; ${groups} (${ALGORITHM}).\n`,
    );
  },
});

function stateCommand(
  state: "resolved" | "open",
  help: Pick<Commands[string], "summary" | "description" | "examples">,
) {
  return command({
    ...help,
    arguments: { names: argument("<groups...>", GROUPS) },
    options: { note },
    run: (context, { names, ...noted }) => decide(context, names, () => ({ state, ...noted })),
  });
}

const resolve = stateCommand("resolved", {
  summary: "Mark groups as resolved: the cause is fixed.",
  description: "A new failure reopens the group as a regression.",
  examples: ["redrive groups resolve 160a1b20 --note 'raised the timeout'"],
});

const open = stateCommand("open", {
  summary: "Reopen groups that were resolved or ignored.",
  examples: ["redrive groups open 160a1b20"],
});

const ignore = command({
  summary: "Hide groups from lists until a time, a count or a rate is reached.",
  examples: ["redrive groups ignore 160a1b20 --until 2d", "redrive groups ignore 160a1b20 --rate 10/h"],
  arguments: { names: argument("<groups...>", GROUPS) },
  options: {
    until: word("--until <when>", "a time (2026-12-24T08:00Z) or a duration from now (2d)"),
    count: count("--count <n>", "until this many new letters have been added to the group", 1),
    perHour: value(
      "--rate <n/h>",
      "until more than this many new letters arrive within an hour",
      readPerHour,
    ),
    note,
  },
  run: (context, { names, until, note: noted, ...limits }) =>
    decide(context, names, (now) => ({
      state: "ignored",
      ignoreUntil: { ...(until !== undefined && { at: readTime(until, now) }), ...limits },
      ...(noted !== undefined && { note: noted }),
    })),
});

const assign = command({
  summary: "Assign groups to a person, or remove their assignee.",
  examples: ["redrive groups assign 160a1b20 --to ann", "redrive groups assign 160a1b20 --to none"],
  arguments: { names: argument("<groups...>", GROUPS) },
  options: { to: required(text("--to <person>", "any name; none removes the assignee")) },
  run: async (context, { names, to }) => {
    const assignee = to === "none" ? null : requireText("The person", to);
    const views = await context.withStore(async (engine) => {
      const records = await requireLiveGroups(engine, names);
      await assignGroups(engine, records, { assignee, author: context.author });
      return Promise.all(records.map((record) => viewGroup(engine, record)));
    });
    const lines = views.map(
      ({ group }) =>
        `${group.signature}: ${assignee === null ? "not assigned" : `assigned to ${clean(assignee)}`}\n`,
    );
    return context.answer({ groups: views.map(groupViewToJson) }, () => lines.join(""));
  },
});

const addNote = command({
  summary: "Add a note to a group, with your name and the time.",
  examples: ["redrive groups note 160a1b20 'the vendor was informed'"],
  arguments: { group: argument("<group>", GROUP), note: argument("<text>", "the note") },
  run: (context, { group, note: given }) =>
    decide(context, [group], () => ({ note: requireText("The note", given) })),
});

/** The groups with these names, each once. */
async function requireLiveGroups(engine: Engine, names: readonly string[]): Promise<readonly GroupRecord[]> {
  const records = new Map<string, GroupRecord>();
  for (const name of names) {
    const record = await requireLiveGroup(engine, name);
    records.set(record.signature, record);
  }
  return [...records.values()];
}

/** Finds all groups before it changes the first, so that an unknown name changes nothing. */
async function decide(
  context: Context,
  names: readonly string[],
  decisionAt: (now: number) => Omit<GroupChange, "author">,
): Promise<number> {
  const { author } = context;
  const views = await context.withStore(async (engine) => {
    const change = { ...decisionAt(await engine.now()), author };
    const changed: GroupView[] = [];
    for (const { signature } of await requireLiveGroups(engine, names))
      changed.push(await viewGroup(engine, await engine.changeGroup(signature, change)));
    return changed;
  });
  return context.answer({ groups: views.map(groupViewToJson) }, () => views.map(decidedText).join(""));
}

function decidedText({ record, group }: GroupView): string {
  const line = `${record.signature}: ${clean(stateText(record))}\n`;
  if (record.state !== "resolved" || group.count === 0) return line;
  return `${line}  The group still has ${lettersText(group.count)}: redrive dlq list --group ${record.signature}\n`;
}

function readTime(given: string, now: number): number {
  const at = /^\d{4}-\d\d-\d\d/.test(given) ? fromRfc3339(given) : now + parseDuration(given, "--until");
  if (at !== undefined && at > now) return at;
  const why = at === undefined ? "is not a time" : "is in the past";
  const hint = "Write a future time, e.g. 2026-12-24T08:00Z, or a duration from now, e.g. 2d.";
  throw userError("usage", `--until: "${given}" ${why}.`, hint);
}

function readPerHour(given: string, name: string): number {
  const [, number] = /^(\d+)\s*\/\s*h(?:our)?$/.exec(given.trim()) ?? [];
  if (number !== undefined && Number.isSafeInteger(Number(number))) return Number(number);
  throw userError("usage", `${name}: "${given}" is not a rate per hour.`, `Example: ${name} 10/h`);
}

export const commands = { merge, split, corrections, rebuild, resolve, ignore, open, assign, note: addNote };
