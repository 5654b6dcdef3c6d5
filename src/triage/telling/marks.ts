/** How programs mark the line that says what failed, and the lines that only say that something did. */

/** One way to mark a failure. */
export interface Mark {
  /** What it is, for people. */
  readonly what: string;
  readonly shape: RegExp;
}

/** Marks of the line that tells. Each shape is bounded. */
export const MARKS: readonly Mark[] = [
  {
    what: "an error marker",
    shape:
      /\b(?:error|fatal|panic|critical|failed|failure|err)\s*(?:\[[^\]]{0,40}\]|[A-Z]{1,4}\d{1,6}|\([^)]{0,40}\))?\s*[:!]/i,
  },
  { what: "the name of an exception", shape: /(?:Error|Exception)(?::|$)/ },
  {
    what: "a word in capitals that means failure",
    shape: /\b(?:FAILED|FATAL|ERROR|PANIC|FAIL:|CONFLICT)(?![\w-])/,
  },
  {
    what: "a panic or an uncaught exception",
    shape: /\bpanicked at\b|^Exception in thread|^Caused by:|^Unhandled exception/,
  },
  {
    what: "a failed assertion",
    shape: /\b[Aa]ssert(?:ion)?\b.{0,200}\bfail|^E {2,}\S|^\s*AssertionError\b/,
  },
  { what: "a linter's finding", shape: /^\s*\d+:\d+\s+error\s/ },
  {
    what: "what a tool says went wrong",
    shape:
      /^npm (?:ERR!|error) \S|^\* What went wrong:|No rule to make target|undefined reference to|Error response from daemon/,
  },
  {
    what: "an error of the operating system",
    shape:
      /no such file|permission denied|access denied|command not found|: not found$|out of memory|segmentation fault|connection refused|no space left|cannot allocate memory|address already in use|too many open files|Killed$/i,
  },
];

/** Marked lines that only say that something went wrong above; passed over while there is a better one. */
export const SUMMARIES: readonly RegExp[] = [
  // Compilers and linkers
  /aborting due to|could not compile|for more information about this error|warning: build failed|^collect2: error: ld returned/i,
  /^\s*(?:Found )?\d+ (?:errors?|problems?)\b|✖ \d+ problems?/,
  // Test runners
  /^\s*(?:Tests?|Test Suites?|Test Files|Snapshots):? .{0,60}\bfailed\b/i,
  /^test result: FAILED|error: (?:test|\d+ targets?) failed|^=+ .{0,80}\b(?:failed|error)s?\b.{0,80} =+$|^FAIL(?:ED)?(?:\s|$)(?!.*\s-\s)/,
  /^\s*--- FAIL: |^\s*FAIL\b|^There (?:was|were) \d+ failure|^FAILURES!|^Failures?:$|^\s*[✗✕×] /,
  // Builders, package managers and shells
  /^make(?:\[\d{1,4}\])?: \*\*\* \[|^npm (?:ERR!|error) (?:code|errno|path|command|syscall|A complete log|Lifecycle|Exit status|Failed at|This is probably|Test failed)/,
  /^npm (?:ERR!|error)\s*$|ELIFECYCLE|^error Command failed|^error: script .{0,80} exited|^ ?ERR_PNPM_RECURSIVE/,
  /^\[ERROR\]\s*$|^\[ERROR\] (?:-> |To see the full|Re-run Maven|For more information|After correcting|\[Help|Failed to execute goal)|BUILD FAIL|^FAILURE: Build failed/,
  /process didn't exit successfully|^\s*(?:##\[error\]|Error: )?Process completed with exit code|^exit status \d+$/i,
  /did not complete successfully: exit code|^Automatic merge failed|^error: failed to push some refs|^Execution failed for task/,
];

/** A call in a stack trace. */
export const FRAME = /^\s+at /;
