/** Rust: `3: app::load` with `at src/main.rs:4:5` below. The message is on the line with `panicked at`, or below it. */
import { type Frame, lastBlock, type Trace, type TraceReader } from "./frame.ts";

export const RUST: TraceReader = {
  language: "Rust",
  hint: /^(?:stack backtrace:|[ \t]*\d+: +(?:0x[\da-f]+ - )?[\w<_].*::)/m,
  read,
};

const FRAME = /^\s*\d+: +(?:0x[\da-f]{1,16} - )?(\S.{0,300})$/;
const POSITION = /^\s+at (.{1,400}?)(?::\d+){0,2}$/;
const PANICKED = /\bpanicked at /;
const LOOK_BACK_LINES_MAX = 12;

function read(lines: readonly string[]): Trace | undefined {
  const parse = (line: string, index: number) => frameOf(line, lines[index + 1] ?? "");
  const block = lastBlock(lines, parse, (line) => POSITION.test(line));
  if (!block || block.frames.length < 2) return undefined;
  return {
    language: "Rust",
    headline: headlineBefore(lines, block.start),
    frames: block.frames,
    endsAt: block.end + 1,
  };
}

function headlineBefore(lines: readonly string[], start: number): string {
  const first = Math.max(0, start - LOOK_BACK_LINES_MAX);
  const index = lines.findLastIndex((line, at) => at >= first && at < start && PANICKED.test(line));
  if (index < 0) return "";
  const line = (lines[index] ?? "").trim();
  const below = (lines[index + 1] ?? "").trim();
  const isAnnounced = line.endsWith(":") && !/^(?:stack backtrace|note):/.test(below);
  return isAnnounced ? `${line} ${below}` : line;
}

const FOREIGN_FUNCTION =
  /^(?:<?&?(?:mut )?(?:std|core|alloc|backtrace|tokio|futures|rayon|hashbrown)::|rust_begin_unwind|rust_panic|__rust|_+libc|__pthread|_start|main$|clone|start_thread|<.{0,200} as (?:std|core|alloc)::)/;
const FOREIGN_FILE = /^\/rustc\/|\/\.cargo\/(?:registry|git)\/|\/rustlib\//;

function frameOf(line: string, next: string): Frame | undefined {
  const call = FRAME.exec(line)?.[1];
  if (call === undefined) return undefined;
  const file = POSITION.exec(next)?.[1];
  const name = call
    .replace(/::h[\da-f]{16}$/, "")
    .replace(/(?:::\{\{closure\}\}|::\{closure(?:#\d+)?\})+/g, "")
    .trim();
  const inApp = !FOREIGN_FUNCTION.test(name) && (file === undefined || !FOREIGN_FILE.test(file));
  return { function: name, ...(file !== undefined && { file }), inApp };
}
