/**
 * The variables that a step sees. What a step captures goes to the variables of its phase, past the names that only
 * hold in a handler (`error`, `validation`); a round of a `foreach` keeps its own until it has ended, so that rounds
 * at the same time do not see each other's.
 */
import type { Json } from "../kit/json.ts";

export class Scope {
  readonly #outer: Scope | undefined;
  /** What steps set here. */
  readonly #own: Record<string, Json>;
  /** Names that hold in this scope only. */
  readonly #locals: Readonly<Record<string, Json>>;

  private constructor(
    outer: Scope | undefined,
    own: Record<string, Json>,
    locals: Readonly<Record<string, Json>>,
  ) {
    this.#outer = outer;
    this.#own = own;
    this.#locals = locals;
  }

  /** The scope of a phase: what is set goes into `variables` itself. */
  static over(variables: Record<string, Json>): Scope {
    return new Scope(undefined, variables, {});
  }

  /** A scope of its own, whose captures stay in it until they are merged. */
  fork(locals: Readonly<Record<string, Json>>): Scope {
    return new Scope(this, {}, locals);
  }

  /** The same scope with more names in it. */
  with(locals: Readonly<Record<string, Json>>): Scope {
    return new Scope(this.#outer, this.#own, { ...this.#locals, ...locals });
  }

  /** Takes over what was captured in a fork. */
  merge(fork: Scope): void {
    Object.assign(this.#own, fork.#own);
  }

  set(name: string, value: Json): void {
    this.#own[name] = value;
  }

  /** Every name and its value, the nearest first. */
  all(): Record<string, Json> {
    return { ...this.#outer?.all(), ...this.#own, ...this.#locals };
  }
}
