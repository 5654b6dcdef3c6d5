/** Splits terminal output into styled runs of text. Unknown escape sequences are removed. */
export interface Run {
  readonly text: string;
  readonly className: string;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal output is made of them
const ESCAPE = /\u001b(?:\[([0-9;:]*)([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters would change what a person sees
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/gu;

const COLOURS = [
  "text-muted",
  "text-red",
  "text-green",
  "text-amber",
  "text-blue",
  "text-accent",
  "text-blue",
  "",
];

export function runsOf(output: string): readonly Run[] {
  const runs: Run[] = [];
  let style: Style = {};
  let from = 0;
  for (const match of output.matchAll(ESCAPE)) {
    pushRun(runs, output.slice(from, match.index), style);
    from = match.index + match[0].length;
    if (match[2] === "m") style = styleAfter(style, match[1] ?? "");
  }
  pushRun(runs, output.slice(from), style);
  return runs;
}

interface Style {
  readonly colour?: string;
  readonly bold?: boolean;
  readonly underline?: boolean;
}

function pushRun(runs: Run[], text: string, { colour = "", bold, underline }: Style): void {
  const visible = lastWritten(text).replace(CONTROL, "�");
  if (visible === "") return;
  const className = [colour, bold ? "font-semibold" : "", underline ? "underline" : ""]
    .filter(Boolean)
    .join(" ");
  runs.push({ text: visible, className });
}

/** Keeps what a terminal would show of a line that carriage returns have overwritten. */
function lastWritten(text: string): string {
  return text.replace(/\r\n/gu, "\n").replace(/^[^\n]*\r(?=[^\n])/gmu, "");
}

function styleAfter(before: Style, codes: string): Style {
  const numbers = codes === "" ? [0] : codes.split(/[;:]/u).map(Number);
  let style = before;
  for (let index = 0; index < numbers.length; index++) {
    const code = numbers[index] ?? 0;
    if (code === 38 || code === 48) {
      index += numbers[index + 1] === 5 ? 2 : 4; // skips 256-colour and RGB codes
      continue;
    }
    style = styleWith(style, code);
  }
  return style;
}

function styleWith(style: Style, code: number): Style {
  if (code === 0) return {};
  if (code === 1) return { ...style, bold: true };
  if (code === 4) return { ...style, underline: true };
  if (code === 22) return { ...style, bold: false };
  if (code === 24) return { ...style, underline: false };
  if (code === 39) return { ...style, colour: "" };
  const index = code >= 90 && code <= 97 ? code - 90 : code >= 30 && code <= 37 ? code - 30 : -1;
  return index < 0 ? style : { ...style, colour: COLOURS[index] ?? "" };
}
