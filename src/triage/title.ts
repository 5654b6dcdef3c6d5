/** Derives the title and location of a failure, for people, from its message or its group's pattern. */
import { isErrorTypeName } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";

/** Where a failure happened. Unknown parts are empty. */
export interface Location {
  /** For example `curl` or `npm run build …`. */
  readonly command: string;
  /** How the command ended, for example `exit 22`, `SIGKILL` or `HTTP 503`. */
  readonly ending: string;
  /** For example `step fetch`. */
  readonly step: string;
  /** The functions of the stack trace that are part of the signature, for example `in loadConfig < main`. */
  readonly frames: string;
}

/** The title of a failure and its location, for people. */
export interface FailureTitle {
  /** For example `CommandFailed`; empty for a group named by a person. */
  readonly type: string;
  /** The error line, for example `The requested URL returned error: 501`. */
  readonly title: string;
  readonly location: Location;
}

/** Returns the title and location of a group, from its pattern. */
export function groupTitle(pattern: string): FailureTitle {
  const end = pattern.indexOf("::");
  const type = end > 0 && isErrorTypeName(pattern.slice(0, end)) ? pattern.slice(0, end) : "";
  const { text, frames } = splitFrames(type === "" ? pattern : pattern.slice(end + 2));
  const { title, location } = readMessage(text);
  return { type, title, location: { ...location, frames } };
}

/** Returns the title and location of a single failure, with nothing masked. */
export function failureTitle({ errorType, errorMessage, exitCode, signal }: RecordedFailure): FailureTitle {
  const { title, location } = readMessage(errorMessage);
  const recorded = exitCode === undefined ? (signal ?? "") : `exit ${exitCode}`;
  return {
    type: errorType.name,
    title: title || "(no message)",
    location: { ...location, ending: location.ending || recorded },
  };
}

type RecordedFailure = Pick<Failure, "errorType" | "errorMessage" | "exitCode" | "signal">;

/** Formats a location as `curl · exit 22 · step fetch`; empty if nothing is known. */
export function locationText(location: Location): string {
  return locationParts(location).filter(Boolean).join(" · ");
}

/** Returns the parts in display order, including empty ones. */
export function locationParts({ command, ending, step, frames }: Location): readonly string[] {
  return [command, ending, step, frames];
}

export function titleToJson(pattern: string): { readonly title: string; readonly location: string | null } {
  const { title, location } = groupTitle(pattern);
  return { title, location: locationText(location) || null };
}

/** Formats a title such as `The requested URL returned error: 501 (curl · exit 22)`. */
export function titleLine(pattern: string): string {
  const { title, location } = titleToJson(pattern);
  return location === null ? title : `${title} (${location})`;
}

const NOWHERE: Location = { command: "", ending: "", step: "", frames: "" };

/**
 * Splits a message. The message of a command begins with the command's name and how it ended; any other
 * message is the title itself.
 */
function readMessage(message: string): Pick<FailureTitle, "title" | "location"> {
  const ended = ENDED.exec(message)?.groups;
  if (ended) return readEnded(message, ended);
  const { early = "", within } = BROKEN_OFF.exec(message)?.groups ?? {};
  return { title: message, location: { ...NOWHERE, ...readCommand(within ?? early) } };
}

/** Matches `cargo test failed with exit code 101: error[E0308]: mismatched types`. */
const ENDED =
  /^(?<command>.{1,200}?) (?:failed with exit code (?<exit>\d+(?: \(SIG\w+\))?)|was killed by (?<signal>SIG\w+)|was answered with (?:(?<http>HTTP \d{3})|(?<rpc>JSON-RPC) error code (?<code>\S+?)))(?:: (?<line>.+))?$/s;
/** Matches `cargo test timed out after 5m`, `the item timed out after 1h in cargo test`, `x cannot be started (ENOENT)`. */
const BROKEN_OFF =
  /^(?<early>.{1,200}?) (?:timed out after [^:]{1,40}?(?: in (?<within>.+))?|cannot be started \(.+)$/s;

type Groups = Readonly<Record<string, string | undefined>>;

function readEnded(message: string, { command = "", exit, signal, http, rpc, code, line }: Groups) {
  const ending = exit === undefined ? (signal ?? http ?? `${rpc} ${code}`) : `exit ${exit}`;
  const named = readCommand(command);
  const location = { ...NOWHERE, ...named, ending };
  if (line === undefined) return { title: message, location };
  const { program, rest } = readProgram(line, named.command);
  return { title: rest, location: { ...location, command: program } };
}

/** Splits `step build (npm run build …)` into the step's id and its command. A masked command is left out. */
function readCommand(command: string): Pick<Location, "command" | "step"> {
  const [, id, name] = /^step (\S+) \((.*)\)$/s.exec(command) ?? [];
  const step = id === undefined ? "" : `step ${id}`;
  return { command: MASKED.test(name ?? command) ? "" : (name ?? command), step };
}

/** A text that consists only of masks and placeholders. */
const MASKED = /^(?:<[a-z]+>|…|\s)+$/;

const SHELLS = /^(?:sh|bash|dash|zsh|ksh)\b/;
/** An error line such as `curl: (22) …`, which begins with the name of a program. */
const NUMBERED = /^(?<program>[a-z][\w.+-]{0,30}): \((?:\d+|<num>)\) (?<rest>.+)$/s;

/** Removes the program name from the start of its error line, because the location already contains it. */
function readProgram(line: string, command: string): { readonly program: string; readonly rest: string } {
  const own = command.split(" ", 1)[0]?.split("/").at(-1) ?? "";
  const { program, rest } = NUMBERED.exec(line)?.groups ?? {};
  if (program !== undefined && rest !== undefined && (program === own || SHELLS.test(own)))
    return { program: program === own ? command : program, rest };
  if (own === "" || !line.startsWith(`${own}: `)) return { program: command, rest: line };
  const message = line.slice(own.length + 2);
  const text = SHELLS.test(own) ? message.replace(/^(?:-c: )?(?:line )?(?:\d+|<num>): /, "") : message;
  return text.trim() === "" ? { program: command, rest: line } : { program: command, rest: text };
}

/** Splits off the end of a pattern: the frames, ` (in loadConfig < main)`, and the text of a split. */
function splitFrames(message: string): { readonly text: string; readonly frames: string } {
  const at = message.lastIndexOf(" (in ");
  if (at <= 0 || !message.endsWith(")")) return { text: message, frames: "" };
  const [frames = "", ...rest] = message.slice(at + 2, -1).split(") (");
  const splitBy = rest.length === 0 ? "" : ` (${rest.join(") (")})`;
  return { text: message.slice(0, at) + splitBy, frames };
}
