/** `redrive groups merge|split|corrections|rebuild|resolve|ignore|open|note`: what people decide about groups. */
import { WorkError } from "../../errors.ts";
import type { Correction, GroupChange } from "../../item/group.ts";
import { LETTER_STATES } from "../../item/state.ts";
import { requireJob } from "../../queue/find-job.ts";
import {
  mergeGroups,
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
import { type Rebuilt, rebuildGroups } from "../../redrive/rebuild-groups.ts";
import { fromRfc3339, toRfc3339 } from "../../std/clock.ts";
import { parseDuration } from "../../std/duration.ts";
import type { JsonObject } from "../../std/json.ts";
import { ALGORITHM } from "../../triage/signature.ts";
import { titleLine, titleToJson } from "../../triage/title.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { count, dryRun, note, ofJob, required, requireText, text, value, word, yes } from "../options.ts";
import { confirm } from "../prompt.ts";
import { stateText } from "../render/group.ts";
import { clean } from "../render/paint.ts";
import { table } from "../render/table.ts";
import { counted, lettersText, minuteText, thousands } from "../render/words.ts";
import { GROUP } from "./groups.ts";

const GROUPS = "groups: signatures, beginnings of them, or names";

const merge = command({
  name: "merge",
  summary: "Merge groups into one, for existing and later failures.",
  examples: ["redrive groups merge 160a1b20 7c2d --into 9f03"],
  arguments: { names: argument("<groups...>", GROUPS) },
  options: { into: required(word("--into <group>", "the group that stays")), yes },
  run: (context, { names, into: name, yes: isAgreed }) =>
    context.withStore(async (engine) => {
      const into = await requireGroup(engine, name);
      const groups = [];
      for (const one of names) groups.push(await requireGroup(engine, one));
      if (groups.some(({ signature }) => signature === into.signature))
        throw new WorkError("usage", `${into.signature} cannot be merged into itself. Nothing was merged.`);
      const titles = groups.map(({ pattern }) => `  ${clean(titleLine(pattern))}`).join("\n");
      if (!isAgreed) {
        const target = clean(titleLine(into.pattern));
        await confirm(context, `Merge\n${titles}\ninto\n  ${target}\nfor existing and later failures?`);
      }
      const options = { author: context.author, onProgress: progressNotes(context) };
      const { target, moved } = await mergeGroups(engine, { groups, into }, options);
      const merged = groups.map(({ signature }) => signature);
      return context.answer({ ...correctedToJson(target), merged, moved }, () =>
        correctedText("Merged into", target, moved),
      );
    }),
});

const split = command({
  name: "split",
  summary:
    "Split off the failures of a group whose message contains a text, for existing and later failures.",
  examples: ["redrive groups split 160a1b20 --text 'eu-west' --name 'timeouts in eu-west'"],
  arguments: { group: argument("<group>", GROUP) },
  options: {
    text: required(text("--text <text>", "what their message contains, in any case")),
    name: text("--name <name>", "the name of the new group (default: the pattern and the text)"),
    yes,
  },
  run: (context, { group: word, text: wanted, name, yes: isAgreed }) =>
    context.withStore(async (engine) => {
      const group = await requireLiveGroup(engine, word);
      const filter = { signatures: [group.signature], states: LETTER_STATES, limit: 0 };
      const { total } = await engine.listLetters({ ...filter, text: wanted });
      if (!isAgreed)
        await confirm(
          context,
          `Split ${lettersText(total)} with "${clean(wanted)}" off ${group.signature}, and later ones?`,
        );
      const options = { author: context.author, onProgress: progressNotes(context) };
      const named = name === undefined ? {} : { name };
      const { target, moved } = await splitGroup(engine, group, { ...options, text: wanted, ...named });
      const document = { ...correctedToJson(target), from: group.signature, text: wanted, moved };
      return context.answer(document, () => correctedText("Split off as", target, moved));
    }),
});

interface Corrected {
  readonly signature: string;
  readonly pattern: string;
}

function correctedToJson({ signature, pattern }: Corrected): JsonObject {
  return { signature, ...titleToJson(pattern), pattern };
}

function correctedText(what: string, { signature, pattern }: Corrected, moved: number): string {
  return `${what} ${signature}: ${clean(titleLine(pattern))}\nMoved ${lettersText(moved)}; later ones will follow.\n`;
}

const PROGRESS_EVERY = 10_000;

/** A few letters are moved before anybody wonders. */
function progressNotes(context: Context): (letters: number) => void {
  let next = PROGRESS_EVERY;
  return (letters) => {
    if (letters < next) return;
    context.note(`${thousands(letters)} letters checked`);
    next = letters + PROGRESS_EVERY;
  };
}

const corrections = command({
  name: "corrections",
  summary: "List merges and splits, or remove one.",
  examples: ["redrive groups corrections", "redrive groups corrections --remove 2"],
  options: {
    remove: count(
      "--remove <n>",
      "remove the one with this number; `redrive groups rebuild` then regroups its letters",
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
  const what =
    wanted === undefined
      ? `${from} is no longer merged into ${to}`
      : `"${clean(wanted)}" is no longer split off ${from}`;
  return `${what}.\nTo regroup the existing letters: redrive groups rebuild\n`;
}

function correctionsText({ columns }: Context, all: readonly Correction[]): string {
  if (all.length === 0) return "No merges and no splits.\n";
  return table(
    all.map((one, index) => ({ ...one, number: index + 1 })),
    [
      { title: "NO", value: ({ number }) => String(number), align: "right" },
      { title: "KIND", value: ({ text: wanted }) => (wanted === undefined ? "merge" : "split") },
      { title: "FROM", value: ({ from }) => from },
      { title: "TEXT", value: ({ text: wanted }) => wanted ?? "", cutTo: 12 },
      { title: "TO", value: ({ to }) => to },
      { title: "AT", value: ({ at }) => minuteText(at), giveUp: 1 },
      { title: "BY", value: ({ author }) => author, giveUp: 2 },
      { title: "INTO", value: ({ pattern }) => titleLine(pattern) },
    ],
    columns,
  );
}

const rebuild = command({
  name: "rebuild",
  summary: "Regroup all letters with the current algorithm, the rules of redrive.yml and the corrections.",
  examples: ["redrive groups rebuild --dry-run", "redrive groups rebuild --job nightly --yes"],
  options: { job: ofJob("regroup letters of this job only"), dryRun, yes },
  run: async (context, { job, dryRun: isPreview, yes: isAgreed }) => {
    const { groups: rules } = await context.config();
    const rebuilt = await context.withStore(async (engine) => {
      const queue = job === undefined ? {} : { queue: (await requireJob(engine, job)).id };
      if (!isPreview && !isAgreed) await confirm(context, "Regroup all letters?");
      return rebuildGroups(engine, {
        ...queue,
        rules,
        onProgress: progressNotes(context),
        dryRun: isPreview,
      });
    });
    const { letters, changed, groupsBefore, groupsAfter } = rebuilt;
    const counts = { letters, changed, groups_before: groupsBefore, groups_after: groupsAfter };
    return context.answer({ dry_run: isPreview, ...counts, algorithm: ALGORITHM }, () =>
      rebuiltText(rebuilt, isPreview),
    );
  },
});

function rebuiltText({ letters, changed, groupsBefore, groupsAfter }: Rebuilt, isPreview: boolean): string {
  const groups = `${counted(groupsBefore, "group")} before, ${groupsAfter} after`;
  const moves = isPreview ? "would change their group" : "changed their group";
  return `${changed} of ${lettersText(letters)} ${moves}; ${groups} (${ALGORITHM}).\n`;
}

type Decision = Omit<GroupChange, "author">;

const resolve = command({
  name: "resolve",
  summary: "Mark groups as resolved: the cause is gone.",
  description: "A new failure reopens the group as a regression.",
  examples: ["redrive groups resolve 160a1b20 --note 'raised the timeout'"],
  arguments: { names: argument("<groups...>", GROUPS) },
  options: { note },
  run: (context, { names, ...noted }) => decide(context, names, () => ({ state: "resolved", ...noted })),
});

const open = command({
  name: "open",
  summary: "Reopen groups that were resolved or ignored.",
  examples: ["redrive groups open 160a1b20"],
  arguments: { names: argument("<groups...>", GROUPS) },
  options: { note },
  run: (context, { names, ...noted }) => decide(context, names, () => ({ state: "open", ...noted })),
});

const ignore = command({
  name: "ignore",
  summary: "Leave groups out of lists until a time, a count or a rate is reached.",
  examples: ["redrive groups ignore 160a1b20 --until 2d", "redrive groups ignore 160a1b20 --rate 10/h"],
  arguments: { names: argument("<groups...>", GROUPS) },
  options: {
    until: word("--until <when>", "a time (2026-12-24T08:00Z) or a duration from now (2d)"),
    count: count("--count <n>", "until this many new letters have died of it", 1),
    perHour: value(
      "--rate <n/h>",
      "until more than this many new letters arrive within an hour",
      readPerHour,
    ),
    note,
  },
  run: (context, { names, until, count: letters, perHour, ...noted }) =>
    decide(context, names, (now) => ({
      state: "ignored",
      ignoreUntil: {
        ...(until !== undefined && { at: readTime(until, now) }),
        ...(letters !== undefined && { count: letters }),
        ...(perHour !== undefined && { perHour }),
      },
      ...noted,
    })),
});

const addNote = command({
  name: "note",
  summary: "Add a note to a group, with your name and the time.",
  examples: ["redrive groups note 160a1b20 'the vendor was told'"],
  arguments: { group: argument("<group>", GROUP), note: argument("<text>", "the note") },
  run: (context, { group, note: given }) =>
    decide(context, [group], () => ({ note: requireText("The note", given) })),
});

/** All groups are found before the first is changed: an unknown name changes nothing. */
async function decide(
  context: Context,
  names: readonly string[],
  decisionAt: (now: number) => Decision,
): Promise<number> {
  const { author } = context;
  const views = await context.withStore(async (engine) => {
    const change = { ...decisionAt(await engine.now()), author };
    const signatures = new Set<string>();
    for (const name of names) signatures.add((await requireLiveGroup(engine, name)).signature);
    const changed: GroupView[] = [];
    for (const signature of signatures)
      changed.push(await viewGroup(engine, await engine.markGroup(signature, change)));
    return changed;
  });
  return context.answer({ groups: views.map(groupViewToJson) }, () => views.map(decidedText).join(""));
}

function decidedText({ mark, group }: GroupView): string {
  const line = `${mark.signature}: ${clean(stateText(mark))}\n`;
  if (mark.state !== "resolved" || group.count === 0) return line;
  return `${line}  It still has ${lettersText(group.count)}: redrive dlq list --group ${mark.signature}\n`;
}

/** A time, or a duration from now. */
function readTime(given: string, now: number): number {
  const at = /^\d{4}-\d\d-\d\d/.test(given) ? fromRfc3339(given) : now + parseDuration(given, "--until");
  if (at !== undefined && at > now) return at;
  throw new WorkError(
    "usage",
    `--until: "${given}" ${at === undefined ? "is not a time" : "is in the past"}.`,
    {
      hint: "Write a future time, e.g. 2026-12-24T08:00Z, or a duration from now, e.g. 2d.",
    },
  );
}

function readPerHour(given: string, name: string): number {
  const [, number] = /^(\d+)\s*\/\s*h(?:our)?$/.exec(given.trim()) ?? [];
  if (number !== undefined && Number.isSafeInteger(Number(number))) return Number(number);
  throw new WorkError("usage", `${name}: "${given}" is not a rate per hour.`, { hint: "Write e.g. 10/h." });
}

export const commands = [merge, split, corrections, rebuild, resolve, ignore, open, addNote];
