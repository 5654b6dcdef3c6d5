/**
 * Applies automatic fixes: one edit with the rule's changes, then a redrive of the changed letters. After a
 * crash, the next call continues both operations. Only the first matching rule is applied to a letter.
 */

import { type EndedProgram, lastLine, runProgram } from "../attempt/run-program.ts";
import { selectedPages } from "../dead-letter/pages.ts";
import type { Engine, StoredLetter } from "../engine.ts";
import type { Job } from "../item/job.ts";
import { type Letter, letterToJson } from "../item/letter.ts";
import type { LetterFilter } from "../item/letter-query.ts";
import type { Operation } from "../item/operation.ts";
import type { Feed } from "../runner/run-options.ts";
import { assert } from "../std/assert.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import {
  compact,
  copyJson,
  isJsonObject,
  type Json,
  type JsonObject,
  parseJson,
  stringifyJson,
} from "../std/json.ts";
import { isSameJson } from "../std/json-diff.ts";
import { messageOf } from "../std/thrown.ts";
import { schemasFor } from "./amend.ts";
import { beginListed, type Interruptible, stepsFor, workThrough } from "./operation.ts";
import { compileRecipe, type Recipe } from "./recipe.ts";
import { type Selection, selectPages } from "./select.ts";
import { sendLetters } from "./send.ts";

export interface FixRule {
  /** Stored with every amendment that the rule makes. */
  readonly name: string;
  readonly match: Selection;
  readonly change: FixChange;
  /** How often the rule may be applied to the same letter. */
  readonly usesMax: number;
  /** Whether a running job applies the rule automatically when its queue is empty. */
  readonly auto: boolean;
}

export type FixChange =
  /** Paths, and CEL expressions for their new values. */
  | { readonly kind: "set"; readonly set: Readonly<Record<string, string>> }
  /** A JSON merge patch (RFC 7396). */
  | { readonly kind: "patch"; readonly patch: JsonObject }
  /** A program that reads `{item, letter}` from stdin and prints the new data. */
  | {
      readonly kind: "command";
      readonly command: readonly [program: string, ...args: string[]];
      readonly cwd: string;
      readonly timeoutMs: number;
    };

/** `taken` contains the letters that another rule has already changed in this pass. */
export type FixScope = Pick<FixRequest, "queue" | "within" | "signal"> & {
  readonly taken: ReadonlySet<number>;
};

export async function* fixableLetters(
  engine: Engine,
  rule: FixRule,
  { queue, within = { filter: {} }, taken, signal }: FixScope,
): AsyncGenerator<readonly StoredLetter[]> {
  const both = narrowed(rule.match, within);
  const selection = { ...both, filter: { ...both.filter, queue, states: ["dead"] as const } };
  for await (const { letters } of selectPages(engine, selection, {
    order: "oldest",
    ...compact({ signal }),
  })) {
    const fixable = letters.filter((letter) => !taken.has(letter.letterSequence) && mayFix(rule, letter));
    if (fixable.length > 0) yield fixable;
  }
}

/** Whether the rule may change the letter. Poison letters are excluded, because a person has to review them first. */
function mayFix({ name, usesMax }: FixRule, letter: Letter): boolean {
  return !letter.poison && usesOf(name, letter) < usesMax;
}

/** Counts the rule's amendments, and the notes about uses that changed nothing. */
export function usesOf(rule: string, { amendments = [], notes = [] }: Letter): number {
  const author = noteAuthor(rule);
  return (
    amendments.filter((amendment) => amendment.rule === rule).length +
    notes.filter((note) => note.author === author).length
  );
}

export function noteAuthor(rule: string): string {
  return `fix ${rule}`;
}

export function narrowed(one: Selection, other: Selection): Selection {
  const filters = [one.where, other.where].filter((where) => where !== undefined);
  const lists = (["signatures", "types", "classes"] as const).map((key) => common(one, other, key));
  return {
    filter: Object.assign({ ...other.filter }, ...lists),
    ...(filters.length > 0 && { where: filters.map((where) => `(${where})`).join(" && ") }),
  };
}

/** Intersects the lists that both filters contain. An empty intersection matches nothing. */
function common(one: Selection, other: Selection, key: "signatures" | "types" | "classes"): LetterFilter {
  const [mine, theirs]: (readonly string[] | undefined)[] = [one.filter[key], other.filter[key]];
  const both = mine && theirs ? mine.filter((word) => theirs.includes(word)) : (mine ?? theirs);
  return both === undefined ? {} : { [key]: both };
}

export interface FixRequest {
  readonly queue: string;
  /** Only the first matching rule is applied to a letter. */
  readonly rules: readonly FixRule[];
  readonly within?: Selection;
  readonly author: string;
  readonly signal?: AbortSignal;
}

export type FixMatch = { readonly rule: FixRule; readonly letter: StoredLetter; readonly answer: FixAnswer };
/** Computes every fix without writing anything. Commands run with `REDRIVE_DRY_RUN=1`. */
export async function* planFixes(engine: Engine, { rules, ...request }: Omit<FixRequest, "author">) {
  const taken = new Set<number>();
  const schemas = await schemasFor(engine, request.queue);
  for (const rule of rules) {
    const fix = await fixerOf(rule.change, {
      isPreview: true,
      schemas,
      ...compact({ signal: request.signal }),
    });
    for await (const letters of fixableLetters(engine, rule, { ...request, taken })) {
      for (const letter of letters) {
        const answer = await fix(letter);
        if (answer.ok) taken.add(letter.letterSequence);
        yield { rule, letter, answer } satisfies FixMatch;
      }
    }
  }
}

export async function countFixable(engine: Engine, request: Omit<FixRequest, "author">): Promise<number> {
  const taken = new Set<number>();
  for (const rule of request.rules) {
    for await (const letters of fixableLetters(engine, rule, { ...request, taken })) {
      for (const { letterSequence } of letters) taken.add(letterSequence);
    }
  }
  return taken.size;
}

export interface AppliedFix {
  readonly rule: string;
  /** The edit operation. `done` counts the changed letters, `refused` the others. */
  readonly edit: Operation;
  /** The redrive of the changed letters, which has not started yet; absent if no letter was changed. */
  readonly redrive?: Operation;
}

export async function applyFixes(engine: Engine, request: FixRequest): Promise<readonly AppliedFix[]> {
  const applied = await finishEarlier(engine, request);
  const taken = new Set<number>();
  for (const { edit } of applied) await take(engine, edit, taken);
  for (const rule of request.rules) {
    if (request.signal?.aborted) break;
    const edit = await beginEdit(engine, rule, { ...request, taken });
    if (edit === null) continue;
    const fix = await finishFix(engine, edit, request);
    await take(engine, fix.edit, taken);
    applied.push(fix);
  }
  return applied;
}

/** Excludes the edited letters from further rules: they stay dead until they are redriven. */
async function take(engine: Engine, edit: Operation, taken: Set<number>): Promise<void> {
  for await (const letterSequences of changedLetters(engine, edit))
    for (const letterSequence of letterSequences) taken.add(letterSequence);
}

/** Finishes fixes that a killed process left open, except paused ones. */
async function finishEarlier(engine: Engine, request: FixRequest): Promise<AppliedFix[]> {
  const applied: AppliedFix[] = [];
  for (const operation of await engine.listOperations({ queue: request.queue, open: true })) {
    if (operation.kind !== "edit" || operation.status === "paused" || !fixPlanOf(operation)) continue;
    applied.push(await finishFix(engine, operation, request));
  }
  return applied;
}

/** Returns null if no letter matches, so that no empty operation is recorded. */
async function beginEdit(engine: Engine, rule: FixRule, { author, ...scope }: FixScope & { author: string }) {
  const pages = fixableLetters(engine, rule, scope);
  const first = await pages.next();
  if (first.done) return null;
  const plan = { fix: { rule: rule.name, change: copyJson(rule.change) } };
  const sequences = (async function* () {
    yield sequencesOf(first.value);
    for await (const letters of pages) yield sequencesOf(letters);
  })();
  return beginListed(engine, { kind: "edit", queue: scope.queue, author, plan }, sequences);
}

/** Runs a fix's edit from its last completed step to the end, then creates the redrive. */
export async function finishFix(
  engine: Engine,
  begun: Operation,
  { author, signal }: Pick<FixRequest, "author" | "signal">,
): Promise<AppliedFix> {
  const plan = fixPlanOf(begun);
  assert(plan !== null, `operation ${begun.id} is not a fix`);
  const edited = await editAll(engine, begun, { plan, signal });
  const { rule } = plan;
  if (edited.status !== "open" || edited.done + edited.refused < edited.selected)
    return { rule, edit: edited };
  const redrive = edited.done > 0 ? await beginRedrive(engine, edited, { rule, author }) : undefined;
  // Closes the edit last: while it is open, the next run after a crash still creates the redrive.
  return compact({ rule, edit: await engine.closeOperation(begun.id), redrive });
}

/** Uses `force`: the rule was written for these letters, so their earlier eligibility does not matter. */
async function beginRedrive(
  engine: Engine,
  edit: Operation,
  { rule, author }: { rule: string; author: string },
) {
  const request = { kind: "redrive", queue: edit.queue, author, force: true, plan: { rule } } as const;
  const redrive = await beginListed(engine, request, changedLetters(engine, edit));
  const { id, done, refused } = edit;
  const data = { rule, count: done, refused, edit_id: id, operation_id: redrive.id };
  await engine.changeJob(edit.queue, { event: { type: "dlq_rule_applied", data } });
  return redrive;
}

async function* changedLetters(engine: Engine, { id }: Operation): AsyncGenerator<readonly number[]> {
  for await (const page of selectedPages(engine, id, "done")) yield sequencesOf(page);
}

function sequencesOf(letters: readonly { readonly letterSequence: number }[]): readonly number[] {
  return letters.map(({ letterSequence }) => letterSequence);
}

/** Letters per step. Commands of one step run in parallel. */
const CHUNK_MAX = { set: 200, patch: 200, command: 8 } as const;

async function editAll(
  engine: Engine,
  begun: Operation,
  { plan: { rule, change }, signal }: Interruptible & { plan: FixPlan },
) {
  const schemas = await schemasFor(engine, begun.queue);
  const fix = await fixerOf(change, { schemas, ...compact({ signal }) });
  const edit = async (letter: StoredLetter) => {
    const answer = await fix(letter);
    if (!answer.ok) return answer.reason;
    // Records the use before the redrive. Otherwise a rule that changes nothing could be applied endlessly.
    if (isSameJson(answer.data, letter.itemData))
      await engine.addNote(letter.ref, {
        author: noteAuthor(rule),
        text: "applied; the data did not change",
      });
    return { data: answer.data, rule };
  };
  return workThrough(engine, begun, {
    chunkMax: CHUNK_MAX[change.kind],
    signal,
    staysOpen: true,
    stepFor: async (pending) => {
      const letters = await stepsFor(engine, pending, edit);
      return signal?.aborted ? null : { letters }; // a stopped command has no result for its letter
    },
  });
}

async function fixerOf(
  change: FixChange,
  { schemas, ...asking }: AskOptions & { schemas: readonly Json[] },
): Promise<(letter: Letter) => Promise<FixAnswer>> {
  if (change.kind !== "command") {
    const amend = await compileRecipe({ ...recipeOf(change), schemas });
    return async (letter) => amend(letter);
  }
  const allowed = await compileRecipe({ schemas });
  return async (letter) => {
    const answer = await askCommand(change, letter, asking);
    return answer.ok ? allowed({ ...letter, itemData: answer.data }) : answer;
  };
}

function recipeOf(change: Exclude<FixChange, { kind: "command" }>): Recipe {
  if (change.kind === "patch") return { patch: change.patch };
  return { set: Object.entries(change.set).map(([path, value]) => ({ path, value })) };
}

/** The copy of the rule stored with the edit, so that the edit can resume after the settings have changed. */
type FixPlan = { readonly rule: string; readonly change: FixChange };

/** Returns null if the edit does not belong to a fix, or if a newer version wrote the fix. */
function fixPlanOf({ plan: { fix } }: Operation): FixPlan | null {
  if (!isJsonObject(fix) || !isJsonObject(fix.change) || typeof fix.rule !== "string") return null;
  return Object.hasOwn(CHUNK_MAX, String(fix.change.kind)) ? (fix as unknown as FixPlan) : null;
}

export type FixAnswer =
  | { readonly ok: true; readonly data: Json }
  | { readonly ok: false; readonly reason: string };

/** `isPreview` sets `REDRIVE_DRY_RUN=1` for the program. */
export type AskOptions = { readonly isPreview?: boolean; readonly signal?: AbortSignal };

/** Runs the program without a shell. Resolves when it and all processes it started have ended. Never rejects. */
export async function askCommand(
  change: Extract<FixChange, { kind: "command" }>,
  letter: Letter,
  { isPreview = false, signal }: AskOptions = {},
): Promise<FixAnswer> {
  const [program] = change.command;
  const input = `${stringifyJson({ item: letter.itemData, letter: letterToJson(letter) })}\n`;
  const env: Record<string, string> = isPreview ? { REDRIVE_DRY_RUN: "1" } : {};
  const ended = await runProgram({ ...change, env, signal, input });
  if (ended.why !== undefined) return refuse(`${program} ${ended.why}`);
  if (ended.code !== 0) return refuse(`${program} ended with ${endText(ended)}${lastLine(ended)}`);
  try {
    return { ok: true, data: parseJson(ended.stdout) };
  } catch {
    return refuse(`${program} did not print JSON: ${shorten(ended.stdout.trim()) || "(no output)"}`);
  }
}

function refuse(reason: string): FixAnswer {
  return { ok: false, reason };
}

function endText({ code, signal }: EndedProgram): string {
  return code === null ? `the signal ${signal}` : `exit code ${code}`;
}

const TEXT_LENGTH_MAX = 200;

function shorten(text: string): string {
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text;
}

/**
 * Edits the matching letters and returns the feed that redrives them, or null if none match. An unusable rule
 * is reported as a notice, because it must not fail a job whose work is done.
 */
export async function autoFix(
  deps: { engine: Engine; stop: AbortSignal; clock?: Clock; author?: string },
  { job, rules, onNotice }: { job: Job; rules: readonly FixRule[]; onNotice?: (notice: string) => void },
): Promise<Feed | null> {
  const { engine, author = "redrive", stop, clock = systemClock } = deps;
  try {
    const applied = await applyFixes(engine, { queue: job.id, rules, author, signal: stop });
    for (const { rule, edit } of applied) {
      const letters = edit.done === 1 ? "1 letter" : `${edit.done} letters`;
      if (edit.done > 0) onNotice?.(`Applied fix ${rule} to ${letters}; retrying them.`);
    }
    const redrives = applied.flatMap(({ redrive }) => redrive ?? []);
    if (redrives.length === 0) return null;
    const options = { engine, clock, whenPaused: "leave", ...(onNotice && { onNotice }) } as const;
    return async function* (storeRetry, signal) {
      for (const operation of redrives) yield* sendLetters(operation, { ...options, storeRetry, signal });
    };
  } catch (error) {
    onNotice?.(`Cannot apply the fixes: ${messageOf(error)} Run \`redrive dlq fix ${job.id}\` to try again.`);
    return null;
  }
}
