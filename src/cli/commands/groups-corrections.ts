/** `redrive groups corrections`: the merges and splits that hold, and how one is taken back. */
import type { Correction } from "../../item/group.ts";
import { toRfc3339 } from "../../kit/clock.ts";
import type { JsonObject } from "../../kit/json.ts";
import { removeCorrection, requireCorrection } from "../../redrive/correct-groups.ts";
import { titleLine, titleToJson } from "../../triage/title.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { minuteText } from "../group-fix-text.ts";
import { countOption } from "../option.ts";
import { clean } from "../paint.ts";
import { table } from "../table.ts";

export async function groupsCorrections(
  context: Context,
  flags: { readonly remove?: string },
): Promise<number> {
  const number = countOption("--remove", flags.remove, 1);
  const { removed, corrections } = await context.withStore(async (engine) => {
    const found = number === undefined ? null : await requireCorrection(engine, number);
    if (found !== null) await removeCorrection(engine, found);
    return { removed: found, corrections: await engine.listCorrections() };
  });
  const list = corrections.map((one, index) => ({ number: index + 1, ...correctionToJson(one) }));
  const document = { corrections: list, ...(removed && { removed: correctionToJson(removed) }) };
  context.answer(document, () => (removed ? removedText(removed) : listText(context, corrections)));
  return EXIT.done;
}

function correctionToJson({ from, text, to, pattern, author, at }: Correction): JsonObject {
  const kind = text === undefined ? "merge" : "split";
  const split = text === undefined ? {} : { text };
  return { kind, from, ...split, to, ...titleToJson(pattern), pattern, author, at: toRfc3339(at) };
}

function removedText({ from, to, text }: Correction): string {
  const what =
    text === undefined
      ? `${from} is no longer merged into ${to}`
      : `"${clean(text)}" is no longer split off ${from}`;
  return `${what}.\nExisting letters stay where they are until: redrive groups rebuild\n`;
}

function listText({ columns }: Context, corrections: readonly Correction[]): string {
  if (corrections.length === 0) return "No merges and no splits.\n";
  return table(
    corrections.map((one, index) => ({ ...one, number: index + 1 })),
    [
      { title: "NO", value: ({ number }) => String(number), align: "right" },
      { title: "KIND", value: ({ text }) => (text === undefined ? "merge" : "split") },
      { title: "FROM", value: ({ from }) => from },
      { title: "TEXT", value: ({ text }) => text ?? "", cutTo: 12 },
      { title: "TO", value: ({ to }) => to },
      { title: "AT", value: ({ at }) => minuteText(at), giveUp: 1 },
      { title: "BY", value: ({ author }) => author, giveUp: 2 },
      { title: "INTO", value: ({ pattern }) => titleLine(pattern) },
    ],
    columns,
  );
}
