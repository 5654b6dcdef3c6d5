/** Finds values that a command would run as code. Unknown commands are accepted, because the value is a single word there. */
import { basename } from "node:path";

/** A word without its quotes. In `text`, `VALUE` marks a value and `SUBSTITUTION` a command substitution. */
export interface ShellWord {
  text: string;
  readonly values: number[];
  readonly nested: number[];
  /** A quoted word is passed even when it is empty. */
  isQuoted: boolean;
}

export const VALUE = "\uE000";
export const SUBSTITUTION = "\uE001";

export interface WordRefusal {
  readonly values: readonly number[];
  readonly why: string;
}

export function refusalsIn(words: readonly ShellWord[]): WordRefusal[] {
  const refusals: WordRefusal[] = [];
  const refuse = (read: readonly ShellWord[], why: string) => {
    const values = read.flatMap((word) => [...word.values, ...word.nested]);
    if (values.length > 0) refusals.push({ values, why });
  };
  const at = commandAt(words);
  const name = nameOf(words[at]);
  const rest = words.slice(at + 1);
  refuse(rest, JOINED.get(name) ?? NOTHING);
  if (name === "ssh") refuse(sshCode(rest), SSH);
  if (NAMING.has(name)) refuse(rest.filter(isName), VARIABLE_NAME);
  if (PROGRAM_FIRST.has(name)) refuse(programText(rest), inlineCode(name));
  refuse(words.filter(isSubscript), SUBSCRIPT);
  for (let index = 0; index < words.length; index++) {
    const program = nameOf(words[index]);
    const after = words.slice(index + 1);
    if (SHELLS.has(program)) {
      const { operands, hasEnd, code } = shellArguments(after);
      refuse(code, secondShell(program));
      if (!hasEnd) refuse(operands.slice(0, 1).filter(startsWithValue), shellOption(program));
      if (code.length > 0) index = words.length - operands.length + 1; // the word after the script is $0, not a command
    }
    if (RUNS_C.has(program)) refuse(afterOption(after, "c", false), secondShell(program));
    const letters = CODE_OPTIONS.get(program.replace(/[\d.]+$/, ""));
    if (letters !== undefined) refuse(afterOption(after, letters, true), inlineCode(program));
  }
  return refusals.filter(({ why }) => why !== NOTHING);
}

export function readsScriptFromInput(words: readonly ShellWord[]): boolean {
  const at = commandAt(words);
  const name = nameOf(words[at]);
  const rest = words.slice(at + 1);
  if (name === "ssh") return sshOperands(rest).length < 2; // without a command, ssh starts a shell on the remote machine
  if (!SHELLS.has(name)) return false;
  return rest.every(({ text }) => /^[-+]/.test(text)) || rest.some(({ text }) => /^-[a-z]*s$/.test(text));
}

/** Whether the command may print the whole environment, which contains all values. */
export function printsEnvironment(words: readonly ShellWord[]): boolean {
  return words.some((word) => PRINTS_ENVIRONMENT.has(nameOf(word)));
}

const PRINTS_ENVIRONMENT = new Set("env printenv set export declare typeset readonly environ".split(" "));
const NOTHING = "";
const SHELLS = new Set("sh bash dash ash ksh mksh zsh fish $SHELL $BASH $0".split(" "));
const RUNS_C = new Set("su runuser script flock".split(" "));
const PROGRAM_FIRST = new Set("awk gawk mawk nawk sed gsed".split(" "));
/** The options of interpreters whose argument is a program. */
const CODE_OPTIONS: ReadonlyMap<string, string> = new Map([
  ["python", "c"],
  ["perl", "eE"],
  ["ruby", "e"],
  ["node", "ep"],
  ["nodejs", "ep"],
  ["php", "r"],
  ["lua", "e"],
  ["Rscript", "e"],
  ["osascript", "e"],
]);
/** Commands that take variable names. Some shells evaluate the subscript of a name. */
const NAMING = new Set("unset read declare typeset local readonly export mapfile readarray".split(" "));

const RAW = "or write ${raw:…} where it has to be code";
const SSH = `the shell on the other machine interprets it. Send it through standard input: printf '%s' IT | ssh HOST 'cat > file', ${RAW}`;
const VARIABLE_NAME = "it would be the name of a shell variable, which some shells evaluate";
const SUBSCRIPT = "it is in a subscript […], which some shells evaluate";
const JOINED: ReadonlyMap<string, string> = new Map([
  ["eval", `eval runs it. Omit eval, ${RAW}`],
  ["trap", `trap runs it later. Assign it first: value=IT; trap '… "$value"' EXIT, ${RAW}`],
  ["alias", `an alias is run. Use a function, ${RAW}`],
  ["let", "let evaluates it. Write $(expr IT + 1)"],
  ["[[", "some shells evaluate it in [[ … ]]. Write [ … ]"],
  ["parallel", `parallel passes it to a shell. Use xargs, ${RAW}`],
  ["watch", `watch passes it to a shell, ${RAW}`],
]);

function secondShell(name: string): string {
  return `a second shell (${name} -c) reads it as code. Pass it as an argument: ${name} -c '… "$1" …' ${name} IT, ${RAW}`;
}

function shellOption(name: string): string {
  return `${name} could read it as an option. Write ${name} -- IT`;
}

function inlineCode(name: string): string {
  return `${name} reads it as part of its program. Pass it in the step's env: and read it from the environment there, ${RAW}`;
}

function nameOf(word: ShellWord | undefined): string {
  return word === undefined || word.text === "" ? "" : basename(word.text);
}

const RESERVED = new Set("if then elif else while until do ! { time".split(" "));
const PREFIXES = new Set(
  "sudo doas env nohup timeout nice ionice command builtin exec xargs stdbuf setsid busybox".split(" "),
);
const PREFIX_OPTION_WITH_VALUE = /^-[ugnIPLskdCa]$/;

/** Returns the index of the command name, after assignments, reserved words and prefix commands such as sudo. */
function commandAt(words: readonly ShellWord[]): number {
  let at = 0;
  let hasPrefix = false;
  for (; at < words.length; at++) {
    const { text } = words[at] as ShellWord;
    if (PREFIXES.has(nameOf(words[at]))) hasPrefix = true;
    else if (hasPrefix && text.startsWith("-")) at += PREFIX_OPTION_WITH_VALUE.test(text) ? 1 : 0;
    else if (!RESERVED.has(text) && !/^\w+=|^\$\w*$|^\uE001$/.test(text) && !(hasPrefix && /^\d/.test(text)))
      break;
  }
  return at;
}

function startsWithValue({ text }: ShellWord): boolean {
  return /^[\uE000\uE001]/.test(text);
}

interface ShellArguments {
  readonly operands: readonly ShellWord[];
  /** The script after `-c`: the first word that is not an option. */
  readonly code: readonly ShellWord[];
  readonly hasEnd: boolean;
}

function shellArguments(after: readonly ShellWord[]): ShellArguments {
  let at = 0;
  let runsText = false;
  let hasEnd = false;
  for (; at < after.length && !hasEnd; at++) {
    const { text } = after[at] as ShellWord;
    if (mayVanish(after[at] as ShellWord)) continue;
    if (!/^[-+]/.test(text)) break;
    if (text === "--") hasEnd = true;
    else if (!text.startsWith("--") && text.includes("c")) runsText = true;
    if (/^[-+][oO]$/.test(text)) at++;
  }
  const operands = after.slice(at);
  return { operands, code: runsText ? throughCertain(operands) : [], hasEnd };
}

/** An unquoted expansion that is empty is removed, so that the next word takes its position. */
function mayVanish({ text, isQuoted, values }: ShellWord): boolean {
  return !isQuoted && values.length === 0 && /^(?:\$\w+|\uE001)+$/.test(text);
}

/** Returns the words up to and including the first one that cannot be removed. */
function throughCertain(words: readonly ShellWord[]): readonly ShellWord[] {
  const certain = words.findIndex((word) => !mayVanish(word));
  return certain < 0 ? words : words.slice(0, certain + 1);
}

/** Returns the arguments of options with one of these letters: the rest of the word, and the next word. */
function afterOption(after: readonly ShellWord[], letters: string, endsAtOperand: boolean): ShellWord[] {
  const option = new RegExp(`^-[A-Za-z]*[${letters}]|^--(?:eval|print)`);
  const code: ShellWord[] = [];
  for (const [index, word] of after.entries()) {
    const isOption = word.text.startsWith("-");
    if (isOption && option.test(word.text)) code.push(word, ...throughCertain(after.slice(index + 1)));
    else if (!isOption && endsAtOperand && !code.includes(word)) break;
  }
  return code;
}

/** Returns the program of awk or sed: the first operand, or the argument of `-e`. */
function programText(after: readonly ShellWord[]): readonly ShellWord[] {
  for (const [index, { text }] of after.entries()) {
    if (/^-[A-Za-z]*e/.test(text) || text.startsWith("--expression"))
      return [...after.slice(index, index + 1), ...throughCertain(after.slice(index + 1))];
    if (/^(-f|--file)/.test(text)) return [];
    const isValue = /^-[vF]$/.test(after[index - 1]?.text ?? "");
    if (!text.startsWith("-") && !isValue) return throughCertain(after.slice(index));
  }
  return [];
}

const SSH_OPTION_WITH_VALUE = /^-[BbcDEeFIiJLlmOoPpQRSWw]$/;

function sshOperands(after: readonly ShellWord[]): ShellWord[] {
  return after.filter(
    ({ text }, index) =>
      !text.startsWith("-") && !SSH_OPTION_WITH_VALUE.test(index === 0 ? "" : (after[index - 1]?.text ?? "")),
  );
}

/** Returns all words except a destination that cannot be an option. */
function sshCode(after: readonly ShellWord[]): ShellWord[] {
  const end = after.findIndex(({ text }) => text === "--");
  const at = end >= 0 ? end + 1 : after.findIndex(({ text }) => !/^[-\uE000\uE001]/.test(text));
  return after.filter((_, index) => index !== at);
}

/** Whether a value is part of the name: before a `=`, or in a word without one. */
function isName({ text }: ShellWord): boolean {
  return /^[^=]*[\uE000\uE001]/.test(text);
}

function isSubscript({ text }: ShellWord): boolean {
  return /^\w+\[[^\]]*[\uE000\uE001]/.test(text);
}
