/**
 * Reports of operating system kernels: Linux oopses, sanitizers, lockups and lock checkers, and the BSDs' panics. The first
 * report in a log is the one that matters, because what comes later is often its consequence. One function tells it from
 * others: where it happened, or, for a hang, what it waits in.
 */
import type { Frame, Trace, TraceReader } from "./frame.ts";
import { functionName, mayBeCause } from "./kernel-functions.ts";
import { isReport, kindOfReport } from "./kernel-reports.ts";

export const KERNEL: TraceReader = {
  language: "kernel",
  hint: /\+0x[\da-f]+\/0x[\da-f]+|\) at \w[\w:.]*\+0x|^(?:<\d>)?\[ *\d+\.\d{3,6}\]/m,
  read,
};

/** `[  12.345678][  T123] `, `<4>`, dates of loggers. */
const PREFIX =
  /^(?:<\d{1,2}>|\*\* \d+ printk messages dropped \*\* )?(?:\[ {0,8}\d{1,8}\.\d{1,9}\](?:\[ {0,8}[A-Z]\d{1,8}\])? ?|\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d ){1,3}/;
const REPORT_LINES_MAX = 400;

function read(all: readonly string[]): Trace | undefined {
  const lines = all.map((line) => line.replace(PREFIX, ""));
  const start = lines.findIndex(isReport);
  if (start < 0) return undefined;
  const report = lines.slice(start, start + REPORT_LINES_MAX);
  const { headline, isHang } = kindOfReport(report);
  return { language: "kernel", headline, frames: framesOf(report, isHang), endsAt: all.length, framesMax: 1 };
}

const CALL = /^\s*(?:\[<[\da-f]{1,16}>\] ?)?([A-Za-z_][\w.$]{1,100})\+0x[\da-f]{1,8}\/0x[\da-f]{1,8}/;
const INLINED = /^\s*([A-Za-z_][\w.]{1,100}) [\w/.-]{1,200}\.[chSs]:\d+(?: \[inline\])?$/;
const BSD_CALL = /^([A-Za-z_][\w.]{1,100})\(.{0,300}\) at (?:\w{1,20}:)?[\w.]{1,100}\+0x/;
/** Where the processor was: the innermost call. */
const INSTRUCTION =
  /^\s*(?:RIP: 0010|RIP: e030|EIP|IP|PC is at|pc|NIP|epc|ra)\s*:?\s*(?:\[<[\da-f]{1,16}>\] ?){0,2}(?:[\da-f]{4}:)?(?:\[<[\da-f]{1,16}>\]\s*){0,2}([A-Za-z_][\w.$]{1,100})\+0x/;
const HEAD_CALL = /(?: in | at | at: (?:\[<[\da-f]{1,16}>\] )?)([A-Za-z_][\w.$]{1,100})\+0x[\da-f]{1,8}\/0x/;

function framesOf(report: readonly string[], isHang: boolean): readonly Frame[] {
  const frames: Frame[] = [];
  const add = (name: string | undefined) => {
    if (name === undefined) return;
    frames.push({ function: functionName(name), inApp: mayBeCause(name) && mayBeCause(functionName(name)) });
  };
  let isInterrupt = false;
  for (const [index, line] of report.entries()) {
    if (index > 0 && frames.length > 0 && isReport(line) && frames.some((frame) => frame.inApp)) break;
    if (isHang && line.includes("<IRQ>")) isInterrupt = true; // the timer that found the hang
    if (/<\/IRQ>|<EOI>/.test(line)) isInterrupt = false;
    if (isInterrupt) continue;
    const text = line.replace(/^\s*<\/?[A-Z]{3,4}>\s*/, "").replace(PREFIX, "");
    add(
      (INSTRUCTION.exec(text) ??
        CALL.exec(text) ??
        INLINED.exec(text) ??
        BSD_CALL.exec(text) ??
        (index < 8 ? HEAD_CALL.exec(text) : null))?.[1],
    );
  }
  return frames;
}
