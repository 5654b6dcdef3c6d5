/** The first lines of kernel reports, and what kind of failure each tells of. */

const REPORT =
  /\bBUG[: ]|\bWARNING:|\bkernel BUG at|Kernel panic|KASAN:|KMSAN:|KCSAN:|KFENCE:|UBSAN:|UBSan:|UndefinedBehaviorSanitizer|general protection fault|\bdivide error|[Dd]ouble fault|stack segment|invalid opcode|Internal error:|Unhandled fault|Alignment trap|[Uu]nable to handle|INFO: task .{1,60} blocked|detected stall|self-detected|INFO: trying to register|INFO: possible|suspicious RCU|inconsistent lock state|bad unlock balance|held lock freed|still has locks|lock held when|^\s*panic(?:: |\[| \()|Fatal trap|uvm_fault|protection_fault|ASSERT FAILED|unreferenced object|witness:|lock order reversal|data race|kernel stack overflow|VFS: |unregister_netdevice|stack-protector|Freed in /;
/** Lines that say such words in passing. */
const IN_PASSING = /panic_on_warn|Not tainted|Boot_DEBUG|drop_monitor|no WARNING|lockdep is turned off/;

/** Whether a report begins here. */
export function isReport(line: string): boolean {
  return REPORT.test(line) && !IN_PASSING.test(line);
}

/** Kinds whose first line has more in it than the kind. In the order in which they are tried. */
const KINDS: readonly (readonly [form: RegExp, kind: string])[] = [
  [/INFO: task .{1,80} blocked for more than/, "INFO: task hung"],
  [/soft lockup/, "BUG: soft lockup"],
  [/workqueue lockup/, "BUG: workqueue lockup"],
  [/(?:self-)?detected stall|detected expedited stalls/, "INFO: rcu detected stall"],
  [/(?:KASAN|KMSAN|KCSAN|KFENCE): ([\w -]{3,60}?)(?: in | at | on |$)/, "sanitizer"],
  [/UBS[Aa][Nn]: [Uu]ndefined.?[Bb]ehaviou?r/, "UBSAN: undefined behaviour"],
  [/^.{0,20}kernel BUG at/, "kernel BUG"],
  [/unable to handle (?:kernel )?NULL pointer/i, "BUG: unable to handle kernel NULL pointer dereference"],
  [
    /unable to handle (?:kernel )?(?:paging request|page fault)/i,
    "BUG: unable to handle kernel paging request",
  ],
  [/general protection fault/, "general protection fault"],
  [/double fault/i, "double fault"],
  [/divide error/, "divide error"],
  [/circular locking|possible recursive locking|irq lock inversion|possible deadlock/, "possible deadlock"],
  [/WARNING: CPU: \d+ PID: \d+ at /, "WARNING"],
  [/bad unlock balance/, "BUG: bad unlock balance"],
  [/suspicious RCU usage/, "WARNING: suspicious RCU usage"],
  [/unreferenced object/, "memory leak"],
];
const HANG = /hung|lockup|stall/;
/** `Read of size 8`: reading and writing freed memory are two bugs. */
const ACCESS = /^\s*(Read|Write) (?:of size|at addr)|\b(read|write) of size/i;
const ACCESS_LINES_MAX = 30;

/** What it is called, and whether it is about something that did not go on. */
export function kindOfReport(report: readonly string[]): {
  readonly headline: string;
  readonly isHang: boolean;
} {
  const line = report[0] ?? "";
  for (const [form, kind] of KINDS) {
    const found = form.exec(line);
    if (!found) continue;
    const headline = kind === "sanitizer" ? sanitizerKind(found, report) : kind;
    return { headline, isHang: HANG.test(kind) };
  }
  return { headline: tidy(line.slice(Math.max(0, line.search(REPORT)))), isHang: false };
}

function sanitizerKind(found: RegExpExecArray, report: readonly string[]): string {
  const access = report
    .slice(0, ACCESS_LINES_MAX)
    .map((line) => ACCESS.exec(line))
    .find((one) => one !== null);
  const how = access?.[1] ?? access?.[2];
  const kind = found[0]
    .replace(/ (?:in|at|on) $/, "")
    .replace(/double-free(?: or invalid-free)?/, "invalid-free"); // its name has changed over the years
  return how === undefined ? kind : `${kind} ${how.toLowerCase()}`;
}

/** Without functions, registers and states of this very run. */
function tidy(line: string): string {
  return line
    .replace(/\s*\[#\d+\].*$/, "")
    .replace(/\S+\+0x[\da-f]+\/0x[\da-f]+/g, "")
    .replace(/\s+\]$/, "") // `[ BUG: … ]`
    .trim();
}
