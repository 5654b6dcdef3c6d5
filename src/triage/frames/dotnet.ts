/**
 * .NET: `at Shop.Cart.Pay(Order o) in /src/Cart.cs:line 7`. An inner exception follows `--->`, and its frames come
 * first, up to the line that marks their end.
 */
import { type Frame, headlineAbove, lastBlock, type Trace, type TraceReader } from "./frame.ts";

export const DOTNET: TraceReader = {
  language: ".NET",
  hint: /^[ \t]+at [\w.`<>+[\],]+\(.{0,300}\)(?: in .{1,300}:line \d+)?[ \t]*$/m,
  read,
};

const FRAME = /^\s+at ([\w.`<>+[\],|]{1,300})\((.{0,300})\)(?: in (.{1,300}):line \d+)?\s*$/;
const INNER_END = /^\s*--- End of inner exception stack trace ---/;

function read(lines: readonly string[]): Trace | undefined {
  const innerEnd = lines.findIndex((line) => INNER_END.test(line));
  const block = lastBlock(innerEnd < 0 ? lines : lines.slice(0, innerEnd), parse);
  if (!block) return undefined;
  const above = headlineAbove(lines, block.start).replace(/^Unhandled [Ee]xception[.:] /, "");
  const inner = above.lastIndexOf("---> ");
  const headline = inner < 0 ? above : above.slice(inner + 5);
  return { language: ".NET", headline, frames: block.frames, endsAt: innerEnd < 0 ? block.end : innerEnd };
}

const FOREIGN = /^(?:System|Microsoft|Xunit|NUnit|Newtonsoft|Moq|Castle|AutoMapper|Npgsql|Grpc)\./;

function parse(line: string): Frame | undefined {
  const found = FRAME.exec(line);
  if (!found) return undefined;
  const [, call = "", , file] = found;
  if (!call.includes(".") || /^\w+\.(?:java|kt|scala|js|ts)$/.test(found[2]?.replace(/:\d+$/, "") ?? ""))
    return undefined;
  return { function: shortName(call), ...(file !== undefined && { file }), inApp: !FOREIGN.test(call) };
}

/** Type and method. The compiler turns `PayAsync` into `<PayAsync>d__7.MoveNext`. */
function shortName(call: string): string {
  const plain = call
    .replace(/\.?<(\w+)>[\w|]{1,40}(?:\.MoveNext)?$/, ".$1")
    .replace(/`\d+/g, "")
    .replace(/\[[^\]]{0,200}\]$/, "");
  return plain.split(".").slice(-2).join(".");
}
