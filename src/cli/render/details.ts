/** Renders detail views: a title with a status, facts, sections, and suggested commands. */
import { clean, fit, type Screen, width } from "./paint.ts";

/** A name and its value. Facts without a value are not shown. */
export type Fact = readonly [name: string, value: string | undefined];

export interface Section {
  readonly title: string;
  readonly note?: string;
  readonly facts?: readonly Fact[];
  /** Lines that are already cleaned and cut to width. */
  readonly lines?: readonly string[];
  readonly next?: readonly Step[];
}

/** A suggested command and its purpose. */
export type Step = readonly [command: string, purpose?: string];

/** Renders the sections and skips empty ones. */
export function detailsText(sections: readonly Section[], screen: Screen): string {
  return sections
    .map((section) => ({ ...section, body: bodyOf(section, screen) }))
    .filter(({ body, facts }) => body !== "" || facts !== undefined)
    .map(({ title, note = "", body }) => `${screen.paint.bold(title)}${note}\n${body}`)
    .join("\n");
}

function bodyOf({ facts = [], lines = [], next = [] }: Section, screen: Screen): string {
  const all = [...lines, ...stepLines(next, screen)];
  return factLines(facts, screen) + all.map((line) => `  ${line}\n`).join("");
}

/** The maximum number of lines for a value, which may be a long message. */
const FACT_LINES_MAX = 3;
const NAME_WIDTH_MIN = 9;

export function factLines(facts: readonly Fact[], { paint, columns }: Screen): string {
  const given = facts.filter(([, value]) => value !== undefined && value !== "");
  const widest = Math.max(NAME_WIDTH_MIN, ...given.map(([name]) => name.length));
  const line = ([name, value = ""]: Fact) =>
    `  ${paint.dim(name.padEnd(widest))} ${fit(value, columns * FACT_LINES_MAX)}\n`;
  return given.map(line).join("");
}

/** Commands are never cut, so that they can be copied; their purposes are omitted if there is no room. */
export function stepLines(steps: readonly Step[], { paint, columns }: Screen): readonly string[] {
  const widest = Math.max(0, ...steps.map(([command]) => width(command)));
  const longest = Math.max(0, ...steps.map(([, purpose = ""]) => width(purpose)));
  const isRoomBeside = 2 + widest + 3 + longest <= columns;
  return steps.map(([command, purpose]) => {
    const space = " ".repeat(widest - width(command) + 3);
    return paint.cyan(command) + (purpose !== undefined && isRoomBeside ? space + paint.dim(purpose) : "");
  });
}

/** Formats the title of the first section: a name and its status. */
export function titleOf(name: string, status = ""): Pick<Section, "title" | "note"> {
  return { title: clean(name), ...(status !== "" && { note: `  ${status}` }) };
}
