/** Renders why failures are in one group, and why two are not. */
import type { Correction } from "../../item/group.ts";
import type { GroupComparison, GroupExplanation, NearGroup } from "../../redrive/explain-group.ts";
import type { Explanation } from "../../triage/explain.ts";
import { titleLine } from "../../triage/title.ts";
import { detailsText, type Section } from "./layout.ts";
import { suggestionLines } from "./suggestion.ts";
import { capped, clean, fit, lettersText, minuteText, type Screen, shorten } from "./text.ts";

const LINES_MAX = 12;
const HITS_MAX = 30;
const WORDS_MAX = 30;
const FRAMES_MAX = 10;

export function explanationText(
  explanation: GroupExplanation,
  screen: Screen,
  comparison?: GroupComparison,
): string {
  const { paint, columns } = screen;
  const { signature, pattern, itemId, jobId, reading } = explanation;
  const about = [
    fit(titleLine(pattern), columns * 2),
    paint.dim(fit(`pattern: ${pattern}`, columns * 2)),
    itemId === undefined
      ? "The group has no letters left."
      : `explained by one of its letters: ${clean(itemId)} of ${jobId}`,
    ...(reading && reading.pattern !== pattern
      ? [paint.dim(fit(`pattern of this letter: ${reading.pattern}`, columns * 2))]
      : []),
  ];
  return detailsText(
    [
      { title: signature, lines: about },
      { title: "Decided", lines: decidedLines(explanation, screen) },
      ...(comparison ? [comparisonSection(explanation, comparison, screen)] : []),
      ...(reading ? readingSections(reading, screen) : []),
      {
        title: "Similar groups",
        note: " (share of common words, number of letters)",
        lines: explanation.nearest
          .filter(isSimilar)
          .map((one) => shorten(nearText(one), Math.max(40, columns - 2))),
      },
      {
        title: "Suggestion",
        lines: explanation.suggestion ? suggestionLines(explanation.suggestion, screen) : [],
      },
    ],
    screen,
  );
}

/** Formats who merged or split, e.g. ` by a split of ana@example.com at 2026-11-20 00:27 (text "eu-west")`. */
function correctionText(correction: Correction | undefined): string {
  if (correction === undefined) return "";
  const { text, author, at } = correction;
  const kind = text === undefined ? "merge" : "split";
  return ` by a ${kind} of ${clean(author)} at ${minuteText(at)}${text === undefined ? "" : ` (text "${clean(text)}")`}`;
}

/** Why another group or letter is in the same group, or is not. */
function comparisonSection(
  { signature }: GroupExplanation,
  { signature: other, isSameGroup, differences }: GroupComparison,
  { columns }: Screen,
): Section {
  const line = (text: string) => fit(text, Math.max(40, columns - 2));
  const found = differences.flatMap(({ part, here, there }) => [
    line(`${part} here:  ${clean(here) || "(none)"}`),
    line(`${" ".repeat(part.length)} there: ${clean(there) || "(none)"}`),
  ]);
  if (isSameGroup && found.length === 0)
    return {
      title: `Compared with ${other}`,
      lines: ["The same group: they differ only in variable words."],
    };
  if (isSameGroup)
    return {
      title: `Compared with ${other}`,
      lines: ["The same group, by a rule or a correction, although these fixed parts differ:", ...found],
    };
  const merge = `Treat them as one: redrive groups merge ${other} --into ${signature}`;
  return {
    title: `Compared with ${other}`,
    lines:
      found.length === 0
        ? [
            "Another group, by a rule or a correction: the fixed parts are the same.",
            "Corrections: redrive groups corrections",
          ]
        : ["Another group, because these fixed parts differ:", ...found, merge],
  };
}

/** Explains rules and corrections, which take precedence over the analysis of the failure. */
function decidedLines(explanation: GroupExplanation, { paint }: Screen): readonly string[] {
  const { group, correctedTo, correctedBy, wouldMove, signature } = explanation;
  const there = correctedTo ?? group?.signature ?? signature;
  return [
    group?.rule !== undefined && `Grouped by the rule "${clean(group.rule)}" in redrive.yml.`,
    correctedTo !== undefined &&
      group !== undefined &&
      `Moved from ${group.signature} to ${correctedTo}${correctionText(correctedBy)}: redrive groups corrections`,
    wouldMove && paint.yellow(`It would now be in ${there}: redrive groups rebuild`),
  ].filter((line) => typeof line === "string");
}

function readingSections(reading: Explanation, { paint, columns }: Screen): readonly Section[] {
  const { lines, source, why, hits, words, framesCounted, framesSkipped } = reading;
  const cut = (texts: readonly string[], max: number) =>
    capped(
      texts.map((text) => fit(text, Math.max(40, columns - 2))),
      max,
      (left) => paint.dim(`… ${left} more; --json shows all`),
    );
  const frames = [
    ...framesCounted.map((frame) => `+ ${frameText(frame)}`),
    ...framesSkipped.map((frame) => `- ${frameText(frame)}`),
  ];
  const masks = hits.map(({ masker, before, after }) => `${masker}: ${clean(before)} → ${after}`);
  return [
    {
      title: "Error line",
      note: ` (${source === "message" ? why : `${source}: ${why}`})`,
      lines: cut(lines.length === 0 ? ["nothing"] : lines, LINES_MAX),
    },
    {
      title: "Words",
      note: " (fixed words make the group; variable ones may differ within it)",
      lines: cut(words.map(wordsText), WORDS_MAX),
    },
    { title: "Replaced values", note: " (in this letter)", lines: cut(masks, HITS_MAX) },
    {
      title: "Stack frames",
      note: " (+ is part of the group, - is ignored)",
      lines: cut(frames, FRAMES_MAX),
    },
  ];
}

function wordsText({ text, isVariable, why }: Explanation["words"][number]): string {
  return `${isVariable ? "variable" : "fixed   "}  ${text} · ${why}`;
}

function frameText({ function: name, file }: Explanation["framesCounted"][number]): string {
  const called = name === "" ? "unnamed code" : name;
  return file === undefined ? called : `${called} in ${file}`;
}

/** A group with fewer words in common tells a person nothing. */
const SIMILAR_DISTANCE_MAX = 0.67;

function isSimilar({ distance }: NearGroup): boolean {
  return distance <= SIMILAR_DISTANCE_MAX;
}

function nearText({ signature, count, distance, pattern }: NearGroup): string {
  const same = `${Math.round((1 - distance) * 100)} %`.padStart(5);
  return `${signature} ${same}  ${lettersText(count)}  ${titleLine(pattern)}`;
}
