/**
 * JavaScript and TypeScript, as printed by V8 (`at load (file:///app/x.js:3:7)`), Firefox and Safari
 * (`load@https://host/x.js:3:7`). A cause is printed after the error that it caused, so the last block of frames is the
 * root.
 */
import { type Frame, headlineAbove, lastBlock, type Trace, type TraceReader } from "./frame.ts";

export const JAVASCRIPT: TraceReader = {
  language: "JavaScript",
  hint: /^[ \t]*at .*:\d+:\d+\)?|^[^\s@]*@\S+:\d+:\d+$/m,
  read,
};

function read(lines: readonly string[]): Trace | undefined {
  const block = lastBlock(lines, parse);
  if (!block) return undefined;
  const headline = headlineAbove(lines, block.start).replace(/^\[cause\]: /, "");
  return { language: "JavaScript", headline, frames: block.frames, endsAt: block.end };
}

const POSITION = /:\d+:\d+$/;
/** Files of the runtime, of installed packages, or of a tool that runs the program. */
const FOREIGN =
  /^(?:node:|internal\/|native|<anonymous>|\[eval|evalmachine|webpack\/|bun:|ext:|deno:)|[/\\]node_modules[/\\]|\/\.(?:yarn|pnpm)\//;

function parse(line: string): Frame | undefined {
  const text = line.trim();
  if (text.startsWith("at ")) return parseV8(text.slice(3).replace(/ \{$/, ""));
  const at = text.indexOf("@");
  if (at < 0 || !POSITION.test(text) || text.includes(" ")) return undefined;
  return frameOf(text.slice(0, at), text.slice(at + 1));
}

function parseV8(call: string): Frame | undefined {
  const open = call.endsWith(")") ? call.lastIndexOf(" (") : -1;
  const position = open < 0 ? call : call.slice(open + 2, -1);
  if (!POSITION.test(position) && !/^(?:native|<anonymous>|node:\S+|index \d+)$/.test(position))
    return undefined;
  return frameOf(open < 0 ? "" : call.slice(0, open), position);
}

function frameOf(name: string, position: string): Frame {
  const file = position.replace(POSITION, "").replace(/^file:\/\//, "");
  return { function: nameOf(name), file, inApp: !FOREIGN.test(file) };
}

/** `async Object.run [as run]` is `run`: the way of calling differs, the function does not. */
function nameOf(name: string): string {
  const plain = name
    .replace(/ \[as [^\]]{1,100}\]$/, "")
    .replace(/^(?:async |new )+/, "")
    .replace(/^(?:Object|Module|Function|exports|global|globalThis|process)\./, "")
    .replace(/^(.{1,100})\/<$/, "$1");
  return plain === "eval" || plain === "<anonymous>" ? "" : plain;
}
