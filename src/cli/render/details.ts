/** One thing in detail, for a person: a title with its status, facts below it, sections, and what to do next. */
import { clean, fit, type Paint, width } from "./paint.ts";

export interface Screen {
  readonly paint: Paint;
  readonly columns: number;
}

/** A name and its value; one without a value is left out. */
export type Fact = readonly [name: string, value: string | undefined];

export interface Section {
  readonly title: string;
  /** Stands behind the title. */
  readonly note?: string;
  readonly facts?: readonly Fact[];
  /** Ready to be shown: clean, and cut where they should be. */
  readonly lines?: readonly string[];
  readonly next?: readonly Step[];
}

/** A command to type, and what it is for. */
export interface Step {
  readonly command: string;
  readonly purpose?: string;
}

/** Sections without content are left out. */
export function detailsText(sections: readonly Section[], screen: Screen): string {
  return sections
    .map((section) => ({ ...section, body: bodyOf(section, screen) }))
    .filter(({ body, facts }) => body !== "" || facts !== undefined)
    .map(({ title, note = "", body }) => `${screen.paint.bold(title)}${note}\n${body}`)
    .join("\n");
}

function bodyOf({ facts = [], lines = [], next = [] }: Section, screen: Screen): string {
  const listed = lines.map((line) => `  ${line}\n`).join("");
  return factLines(facts, screen) + listed + stepLines(next, screen);
}

/** A value may be as long as a message. */
const FACT_LINES_MAX = 3;
const NAME_WIDTH_MIN = 9;

export function factLines(facts: readonly Fact[], { paint, columns }: Screen): string {
  const given = facts.filter(([, value]) => value !== undefined && value !== "");
  const widest = Math.max(NAME_WIDTH_MIN, ...given.map(([name]) => name.length));
  const line = ([name, value = ""]: Fact) =>
    `  ${paint.dim(name.padEnd(widest))} ${fit(value, columns * FACT_LINES_MAX)}\n`;
  return given.map(line).join("");
}

/** Commands are never cut; their purposes are left out where there is no room for them. */
export function stepLines(steps: readonly Step[], { paint, columns }: Screen): string {
  const widest = Math.max(0, ...steps.map(({ command }) => width(command)));
  const longest = Math.max(0, ...steps.map(({ purpose = "" }) => width(purpose)));
  const isRoomBeside = 2 + widest + 3 + longest <= Math.max(columns, 80);
  const line = ({ command, purpose }: Step) => {
    const space = " ".repeat(widest - width(command) + 3);
    const beside = purpose !== undefined && isRoomBeside ? space + paint.dim(purpose) : "";
    return `  ${paint.cyan(command)}${beside}\n`;
  };
  return steps.map(line).join("");
}

/** The title of the thing itself: its name, and a status beside it. */
export function titleOf(name: string, status = ""): Pick<Section, "title" | "note"> {
  return { title: clean(name), ...(status !== "" && { note: `  ${status}` }) };
}
