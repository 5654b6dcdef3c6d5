/**
 * C and C++, as printed by debuggers (`#1 0x4f2 in load (n=3) at load.c:7`) and sanitizers (`#1 0x4f2 in load
 * load.c:7:3`).
 */
import { type Frame, lastBlock, type Trace, type TraceReader } from "./frame.ts";

export const NATIVE: TraceReader = {
  language: "C/C++",
  hint: /^[ \t]*(?:bt)?#\d+:? +(?:0x[\da-f]+ )?\S/m,
  read,
};

const FRAME =
  /^\s*(?:bt)?#\d+:? +(?:0x[\da-f]{1,16} +)?(?:\[ inline \] )?(?:in )?([A-Za-z_~<][^()]{0,200}?)(?:\((.{0,300})\))?(?: const)?(?:(?: at| from)? +(\S{1,300}))?$/;
const POSITION = /(?::\d+){1,2}$/;
/** Lines above the frames that name the failure. */
const HEADLINE =
  /ERROR: \w+Sanitizer: |WARNING: \w+Sanitizer: |runtime error: |Program (?:received|terminated with) signal |Assertion .{0,300} failed|ASSERT FAILED|terminate called|Segmentation fault|panic[: (]/;
const LOOK_BACK_LINES_MAX = 30;

function read(lines: readonly string[]): Trace | undefined {
  // A sanitizer prints several stacks: the first shows where it happened, the others where the memory came from.
  const end = lines.findIndex((line, index) => isLastFrame(lines, line, index));
  const block = lastBlock(end < 0 ? lines : lines.slice(0, end + 1), parse);
  if (!block) return undefined;
  const first = Math.max(0, block.start - LOOK_BACK_LINES_MAX);
  const above = lines.slice(first, block.start);
  const named =
    above.findLast((line) => HEADLINE.test(line)) ?? above.findLast((line) => line.trim() !== "") ?? "";
  return { language: "C/C++", headline: tidy(named), frames: block.frames, endsAt: block.end };
}

function isLastFrame(lines: readonly string[], line: string, index: number): boolean {
  return parse(line) !== undefined && parse(lines[index + 1] ?? "") === undefined;
}

/** `==123==ERROR: AddressSanitizer: heap-use-after-free on address …`: the rest of the line is specific to this run. */
function tidy(line: string): string {
  return line
    .trim()
    .replace(/^==\d+==\s?/, "")
    .replace(/(Sanitizer: [\w-]+(?: [a-z-]+)?) on (?:unknown )?address .*$/, "$1");
}

const FOREIGN_FUNCTION =
  /^(?:__(?:interceptor|asan|tsan|msan|ubsan|libc|GI|cxa|gnu|pthread|kernel|assert|restore|strn?cpy|mem)|_start$|(?:raise|abort|clone|start_thread|mem(?:cpy|set|move|cmp)|strlen|str\w*cpy|free|malloc|calloc|realloc|operator (?:new|delete)|platform_halt|_?panic|assfail|kassert\w*)(?![A-Za-z])|std::|__gnu|boost::|testing::|pthread_)/;
const FOREIGN_FILE = /^\(?\/(?:usr\/)?lib|\.so(?:\.|\b)|\/sysdeps\/|^\.\.\/sysdeps|compiler-rt|libsanitizer/;

function parse(line: string): Frame | undefined {
  const found = FRAME.exec(line);
  if (!found) return undefined;
  const [, call = "", , position] = found;
  const name = call.trim();
  if (name === "" || !/^\s*(?:bt)?#\d+:? +0x|[()]|:\d+$/.test(line)) return undefined; // `#12 is fixed`
  const file = position?.replace(POSITION, "");
  const inApp = !FOREIGN_FUNCTION.test(name) && (file === undefined || !FOREIGN_FILE.test(file));
  return { function: name, ...(file !== undefined && { file }), inApp };
}
