/**
 * The rules that read a failed command's output: what its error line says about permissions, time and resources. They look at
 * the one line that the message shows, because warnings further up are not the reason. docs/11-troubleshooting.md lists them.
 */
import type { ErrorTypeName } from "../item/error-type.ts";

export interface OutputRule {
  readonly type: ErrorTypeName;
  /** What the error line contains. */
  readonly shape: RegExp;
}

/** The first that fits. The texts are those of strerror(3), and the names of the errors as runtimes print them. */
export const OUTPUT_RULES: readonly OutputRule[] = [
  {
    type: "PermissionError",
    shape: /\bpermission denied\b|\baccess (?:is )?denied\b|\boperation not permitted\b|\bE(?:ACCES|PERM)\b/i,
  },
  {
    type: "ResourceExhausted",
    shape:
      /\bno space left on device\b|\bdisk quota exceeded\b|\bcannot allocate memory\b|\bout of memory\b|\btoo many open files\b|\bE(?:NOSPC|DQUOT|NOMEM|MFILE|NFILE)\b/i,
  },
  { type: "Timeout", shape: /\btimed out\b|\bETIMEDOUT\b/i },
];

/** Null when no rule fits. */
export function typeOfErrorLine(line: string): ErrorTypeName | null {
  return OUTPUT_RULES.find(({ shape }) => shape.test(line))?.type ?? null;
}

const KILLED = /\bKilled\b|\bout of memory\b|\boom[-_ ]?kill/i;
const LOOKED_AT_CHARS_MAX = 2000;

/** Whether the end of an output says that the kernel killed something: shells print "Killed" for a process that SIGKILL ended. */
export function saysKilled(output: string): boolean {
  return KILLED.test(output.slice(-LOOKED_AT_CHARS_MAX));
}
