/**
 * Splits a stack trace into the program's own frames and library frames, which are usually less informative.
 */
export interface StackPart {
  readonly isLibrary: boolean;
  readonly lines: readonly string[];
}

const FRAME = /^\s*(?:at\s|File ".*", line \d+|from .+:\d+:in )/u;
const LIBRARY =
  /node_modules|\(?node:|\(internal\/|<anonymous>|native code|site-packages|dist-packages|\/lib\/python|\/usr\/lib\/|\/gems\/|\bjava\.base\/|\bsun\.reflect|\/rustc\/|\/go\/pkg\/mod\//u;

export function stackParts(text: string): readonly StackPart[] {
  const parts: { isLibrary: boolean; lines: string[] }[] = [];
  let isLibrary = false;
  for (const line of text.replace(/\n$/u, "").split("\n")) {
    // A line between frames, such as the source line that Python prints, belongs to the frame before it.
    if (FRAME.test(line)) isLibrary = LIBRARY.test(line);
    else if (!/^\s/u.test(line)) isLibrary = false;
    const last = parts.at(-1);
    if (last?.isLibrary === isLibrary) last.lines.push(line);
    else parts.push({ isLibrary, lines: [line] });
  }
  return parts;
}

/** Extracts the stack trace from a command's output, if it contains one. */
export function stackIn(output: string): string | undefined {
  const lines = output.split("\n");
  const first = lines.findIndex((line) => FRAME.test(line));
  if (first < 0) return undefined;
  const start = Math.max(0, first - 1);
  const length = lines.slice(start + 1).findIndex((line) => !/^\s/u.test(line));
  return lines.slice(start, length < 0 ? undefined : start + 1 + length).join("\n");
}
