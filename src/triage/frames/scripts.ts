/** Parsers of the stack traces of Ruby and PHP. */
import { blockReader, type FoundTrace, type Frame, type TraceReader } from "./frame.ts";

/**
 * Ruby: `cart.rb:3:in 'Cart#total': no price (RuntimeError)` with the innermost call, and `from pay.rb:7:in 'pay'` below. The
 * first trace is the outer error; a cause is printed below it, so the last one is the root cause.
 */
export const RUBY: TraceReader = {
  language: "Ruby",
  hint: /^\S{1,400}:\d+:in [`']/m,
  read: readRuby,
};

const RUBY_HEAD = /^(\S{1,400}?):\d+:in [`']([^']{1,200})': (.{1,500})$/;
const RUBY_CALLER = /^\s+(?:\d+: )?from (\S{1,400}?):\d+:in [`']([^']{1,200})'$/;
const FOREIGN_RUBY = /\/gems\/|\/lib\/ruby\/|^<internal:/;
const CAUSES_MAX = 20;

function readRuby(lines: readonly string[]): FoundTrace | undefined {
  let found: FoundTrace | undefined;
  let from = 0;
  for (let count = 0; count < CAUSES_MAX; count += 1) {
    const start = lines.findIndex((line, index) => index >= from && RUBY_HEAD.test(line));
    if (start < 0) break;
    found = rubyTrace(lines, start);
    from = found.endsAt + 1;
  }
  return found;
}

function rubyTrace(lines: readonly string[], start: number): FoundTrace {
  const [, file = "", name = "", headline = ""] = RUBY_HEAD.exec(lines[start] ?? "") ?? [];
  const frames = [rubyFrame(name, file)];
  let endsAt = start;
  for (let index = start + 1; index < lines.length; index += 1) {
    const [, callerFile, caller] = RUBY_CALLER.exec(lines[index] ?? "") ?? [];
    if (callerFile === undefined || caller === undefined) break;
    frames.push(rubyFrame(caller, callerFile));
    endsAt = index;
  }
  return { headline, frames, endsAt };
}

/** A block is a part of its method: `block (2 levels) in Cart#total`. Code outside of methods has no name. */
function rubyFrame(name: string, file: string): Frame {
  const method = name.replace(/^(?:(?:block|rescue|ensure)(?: \(\d+ levels\))? in )+/, "");
  const isNameless = /^<(?:main|top \(required\)|class:.*|module:.*)>$/.test(method);
  return { function: isNameless ? "" : method, file, inApp: !FOREIGN_RUBY.test(file) };
}

/** PHP: `#0 /app/pay.php(7): Cart->total(1)`, the innermost call first. The last block is the root cause. */
export const PHP: TraceReader = blockReader({
  language: "PHP",
  hint: /^#\d+ (?:\S.{0,400}\(\d+\): |\[internal function\]: |\{main\})/m,
  parse: parsePhp,
  headline: phpHeadline,
});

const PHP_FRAME = /^#\d+ (?:(\S.{0,400}?)\(\d+\)|\[internal function\]): ([\w\\:>{}-]{1,300}?)\(.*$/;
const PHP_HEADLINE_LINES_MAX = 4;

function parsePhp(line: string): Frame | undefined {
  if (/^#\d+ \{main\}$/.test(line)) return { function: "", inApp: true };
  const [, file, call] = PHP_FRAME.exec(line) ?? [];
  if (call === undefined) return undefined;
  const name = call.replace(/^.*\\(?=\w)/, "");
  const isForeign = file === undefined || /[/\\]vendor[/\\]/.test(file);
  return {
    function: name.includes("{closure") ? "" : name,
    ...(file !== undefined && { file }),
    inApp: !isForeign,
  };
}

/** The message is above the line `Stack trace:`, with the place where it was thrown. */
function phpHeadline(lines: readonly string[], start: number): string {
  const above = lines.slice(Math.max(0, start - PHP_HEADLINE_LINES_MAX), start);
  const thrown = above.findLast(
    (line) => line !== "" && !/^(?:PHP )?(?:Stack trace|Backtrace):$/i.test(line.trim()),
  );
  return (thrown ?? "")
    .trim()
    .replace(/^(?:PHP )?Fatal error: {1,2}/, "")
    .replace(/^(?:Uncaught |Next )/, "")
    .replace(/ in \S{1,400}:\d+$/, "");
}
