/**
 * Carries over what people decided about groups to the signatures of a new algorithm version: corrections,
 * states and notes. The new signature of a group is derived from its pattern, or from the letters that were
 * moved.
 */
import type { Engine } from "../engine.ts";
import type { Correction, GroupRecord } from "../item/group.ts";
import { type GroupRule, ruleSignature, splitSignature } from "../triage/grouping.ts";
import { signatureOfPattern } from "../triage/signature.ts";
import { carryAssignee } from "./assignees.ts";

/** Rewrites corrections of older signatures for current signatures. */
export async function carryCorrections(engine: Engine, rules: readonly GroupRule[]): Promise<void> {
  const corrections = await engine.listCorrections();
  const signatures = new CurrentSignatures(engine, rules, corrections);
  for (const { from, text, to, pattern, author } of corrections) {
    const changed = { from: await signatures.of(from), to: await signatures.of(to) };
    if (changed.from === from && changed.to === to) continue;
    await engine.removeCorrection(from, text);
    if (changed.from === changed.to) continue; // the new algorithm groups them together by itself
    await engine.correct({ ...changed, ...(text !== undefined && { text }), pattern, author });
  }
}

/** Finds the current signatures of groups that an older algorithm version named. */
class CurrentSignatures {
  readonly #engine: Engine;
  readonly #rules: readonly GroupRule[];
  readonly #corrections: readonly Correction[];
  readonly #found = new Map<string, string>();

  constructor(engine: Engine, rules: readonly GroupRule[], corrections: readonly Correction[]) {
    this.#engine = engine;
    this.#rules = rules;
    this.#corrections = corrections;
  }

  async of(signature: string): Promise<string> {
    const known = this.#found.get(signature);
    if (known !== undefined) return known;
    this.#found.set(signature, signature); // ends a circle
    const current = await this.#compute(signature);
    this.#found.set(signature, current);
    return current;
  }

  async #compute(signature: string): Promise<string> {
    const pattern = (await this.#engine.readGroup(signature))?.pattern;
    if (pattern === undefined) return signature;
    const split = this.#corrections.find(({ to, text, pattern: named }) => {
      return to === signature && text !== undefined && named === pattern;
    });
    if (split?.text !== undefined) return splitSignature(await this.of(split.from), split.text);
    if (this.#rules.some(({ name }) => name === pattern)) return ruleSignature(pattern);
    return signatureOfPattern(pattern) ?? signature;
  }
}

/** The groups to which the letters of each older group were moved. */
export class Moves {
  readonly #targets = new Map<string, Set<string>>();

  add(from: string, to: string): void {
    const targets = this.#targets.get(from) ?? new Set();
    this.#targets.set(from, targets.add(to));
  }

  /** The older groups of each target, in a fixed order. */
  byTarget(): ReadonlyMap<string, readonly string[]> {
    const sources = new Map<string, string[]>();
    for (const from of [...this.#targets.keys()].sort()) {
      for (const to of this.#targets.get(from) ?? []) sources.set(to, [...(sources.get(to) ?? []), from]);
    }
    return sources;
  }
}

/**
 * Copies notes to groups from the groups that their letters came from, and state and assignee if all of these
 * agree. A group that a person has already changed is left unchanged.
 */
export async function carryDecisions(engine: Engine, moves: Moves): Promise<void> {
  for (const [target, sources] of moves.byTarget()) {
    const record = await engine.readGroup(target);
    if (record !== null && !sources.includes(target)) await carryAssignee(engine, target, sources);
    if (record === null || sources.includes(target) || isDecided(record)) continue;
    const decided: GroupRecord[] = [];
    for (const source of sources) {
      const old = await engine.readGroup(source);
      if (old !== null) decided.push(old);
    }
    await carryTo(engine, target, decided);
  }
}

function isDecided({ state, notes }: GroupRecord): boolean {
  return state !== "open" || notes.length > 0;
}

async function carryTo(engine: Engine, target: string, records: readonly GroupRecord[]): Promise<void> {
  const notes = records.flatMap((record) => record.notes).sort((a, b) => a.at - b.at);
  for (const { author, text } of notes) await engine.changeGroup(target, { author, note: text });
  const [first] = records;
  if (first === undefined || first.state === "open" || records.some(({ state }) => state !== first.state))
    return;
  await engine.changeGroup(target, {
    author: first.author ?? "redrive",
    state: first.state,
    ...(first.ignoreUntil !== undefined && { ignoreUntil: first.ignoreUntil }),
  });
}
