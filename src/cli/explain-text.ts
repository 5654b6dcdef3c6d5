/** Why a failure is in its group, for a person: what was read, what was masked, which frames counted, and what is near. */
import type { GroupExplanation, NearGroup } from "../redrive/explain-group.ts";
import type { Explanation } from "../triage/explain.ts";
import { titleLine } from "../triage/title.ts";
import type { Screen } from "./group-text.ts";
import { clean, fit } from "./paint.ts";
import { shorten } from "./shorten.ts";

const LINES_MAX = 12;
const HITS_MAX = 30;
const FRAMES_MAX = 10;

export function explanationText(explanation: GroupExplanation, screen: Screen): string {
  const { paint, columns } = screen;
  const { signature, pattern, itemId, jobId, reading } = explanation;
  const head = [
    paint.bold(signature),
    `  ${fit(titleLine(pattern), columns * 2)}`,
    `  ${paint.dim(fit(`pattern: ${pattern}`, columns * 2))}`,
    itemId === undefined ? "  No letter of it is left." : `  by the letter ${clean(itemId)} of ${jobId}`,
  ];
  const sections = [
    head,
    decidedLines(explanation, screen),
    ...(reading ? readingSections(reading, screen) : []),
    nearLines(explanation.nearest, screen),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join("\n")}\n`)
    .join("\n");
}

/** Rules and corrections go before the reading; who wonders about a group has to know. */
function decidedLines(explanation: GroupExplanation, { paint }: Screen): readonly string[] {
  const { group, correctedTo, wouldMove, signature } = explanation;
  const lines = [
    ...(group?.rule === undefined ? [] : [`By the rule "${clean(group.rule)}" of redrive.yml.`]),
    ...(correctedTo === undefined || group === undefined
      ? []
      : [`Moved from ${group.signature} to ${correctedTo}: redrive groups corrections`]),
    ...(wouldMove
      ? [
          paint.yellow(
            `Now it would be in ${correctedTo ?? group?.signature ?? signature}: redrive groups rebuild`,
          ),
        ]
      : []),
  ];
  return lines.length === 0 ? [] : [paint.bold("Decided"), ...lines.map((line) => `  ${line}`)];
}

function readingSections(reading: Explanation, screen: Screen): readonly (readonly string[])[] {
  const { paint, columns } = screen;
  const { lines, source, why, hits, framesCounted, framesSkipped } = reading;
  const room = Math.max(40, columns - 2);
  const some = (texts: readonly string[], max: number) => [
    ...texts.slice(0, max).map((text) => `  ${fit(text, room)}`),
    ...(texts.length > max ? [paint.dim(`  … ${texts.length - max} more; --json has all`)] : []),
  ];
  const frames = [
    ...framesCounted.map((frame) => `+ ${frameText(frame)}`),
    ...framesSkipped.map((frame) => `- ${frameText(frame)} (not counted)`),
  ];
  const masks = hits.map(({ masker, before, after }) => `${masker}: ${clean(before)} → ${after}`);
  return [
    [
      `${paint.bold("Read")} (${source}: ${why})`,
      ...some(lines.length === 0 ? ["nothing"] : lines, LINES_MAX),
    ],
    ...(masks.length === 0 ? [] : [[paint.bold("Masked"), ...some(masks, HITS_MAX)]]),
    ...(frames.length === 0 ? [] : [[paint.bold("Frames"), ...some(frames, FRAMES_MAX)]]),
  ];
}

function frameText({ function: name, file }: Explanation["framesCounted"][number]): string {
  const called = name === "" ? "(no name)" : name;
  return file === undefined ? called : `${called} in ${file}`;
}

function nearLines(nearest: readonly NearGroup[], { paint, columns }: Screen): readonly string[] {
  if (nearest.length === 0) return [];
  const lines = nearest.map(({ signature, count, distance, pattern }) => {
    const same = `${Math.round((1 - distance) * 100)} %`.padStart(5);
    return `  ${shorten(`${signature} ${same}  ${count}  ${titleLine(pattern)}`, Math.max(40, columns - 2))}`;
  });
  return [`${paint.bold("Nearest other groups")} (words in common, letters)`, ...lines];
}
