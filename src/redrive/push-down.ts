/**
 * What of an expression a store can search by. Of parts that must all hold, those that compare a field which the store
 * keeps in its indexes with a given value narrow the filter, and the whole expression is then asked of what is left. A
 * letter that is left out would have been answered with "no": in CEL, "no" and anything else is "no", also an error.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { LetterFilter } from "../item/letter-filter.ts";
import { ITEM_STATES, type ItemState } from "../item/state.ts";
import { environmentFor } from "../kit/expression-environment.ts";
import { LETTER_VARIABLES } from "./matcher.ts";

/** The filter with what the expression asks for besides. The expression was compiled before. */
export function narrowedBy(where: string, filter: LetterFilter): LetterFilter {
  const { ast } = environmentFor(LETTER_VARIABLES).parse(where);
  return partsOf(ast).reduce((narrow, part) => narrowBy(narrow, part), filter);
}

/** What must hold, each by itself. */
function partsOf(node: ASTNode): readonly ASTNode[] {
  return node.op === "&&" ? node.args.flatMap(partsOf) : [node];
}

/** A value of another kind than the field may be an error, which is for the expression to say. */
function narrowBy(filter: LetterFilter, part: ASTNode): LetterFilter {
  const asked = askedOf(part);
  if (asked === null) return filter;
  const { field, values } = asked;
  if (values.every((value) => typeof value === "string")) return BY_TEXT[field]?.(filter, values) ?? filter;
  const [flag, ...others] = values;
  const isOne = field === "reprocess_eligible" && typeof flag === "boolean" && others.length === 0;
  return isOne ? byEligible(filter, flag) : filter;
}

/** A field of the letter, and the values of which it must have one. */
interface Asked {
  readonly field: string;
  readonly values: readonly unknown[];
}

function askedOf(part: ASTNode): Asked | null {
  const named = fieldOf(part);
  if (named !== null) return { field: named, values: [true] };
  if (part.op === "!_") return asked(fieldOf(part.args), [false]);
  if (part.op === "==") {
    const [left, right] = part.args;
    return asked(fieldOf(left), valuesOf([right])) ?? asked(fieldOf(right), valuesOf([left]));
  }
  if (part.op !== "in") return null;
  const [left, right] = part.args;
  return right.op === "list" ? asked(fieldOf(left), valuesOf(right.args)) : null;
}

function asked(field: string | null, values: readonly unknown[] | null): Asked | null {
  return field === null || values === null ? null : { field, values };
}

/** `letter.queue` and `letter["queue"]`. */
function fieldOf(node: ASTNode): string | null {
  if (node.op !== "." && node.op !== "[]") return null;
  const [of, field] = node.args;
  if (of.op !== "id" || of.args !== "letter") return null;
  if (typeof field === "string") return field;
  return field.op === "value" && typeof field.args === "string" ? field.args : null;
}

/** Null when one is more than a given value. */
function valuesOf(nodes: readonly ASTNode[]): readonly unknown[] | null {
  return nodes.every((node) => node.op === "value") ? nodes.map((node) => node.args) : null;
}

/** A list that matches nothing. */
const NOTHING = { itemIds: [] } as const;

function byEligible(filter: LetterFilter, eligible: boolean): LetterFilter {
  return (filter.eligible ?? eligible) === eligible ? { ...filter, eligible } : { ...filter, ...NOTHING };
}

/** One queue at most can be asked for. */
function byQueue(filter: LetterFilter, values: readonly string[]): LetterFilter {
  const names = values.filter((name) => filter.queue === undefined || filter.queue === name);
  const [only, ...others] = new Set(names);
  if (only === undefined) return { ...filter, ...NOTHING };
  return others.length === 0 ? { ...filter, queue: only } : filter;
}

type Narrow = (filter: LetterFilter, values: readonly string[]) => LetterFilter;

const BY_TEXT: Readonly<Record<string, Narrow>> = {
  queue: byQueue,
  job_id: byQueue,
  item_id: (filter, values) => ({ ...filter, itemIds: common(filter.itemIds, values) }),
  error_signature: (filter, values) => ({ ...filter, signatures: common(filter.signatures, values) }),
  state: (filter, values) => ({
    ...filter,
    states: common(
      filter.states ?? WAITING,
      ITEM_STATES.filter((state) => values.includes(state)),
    ),
  }),
};

/** Those that a filter means which names no states. */
const WAITING: readonly ItemState[] = ["dead", "ready", "leased", "held"];

function common<One>(known: readonly One[] | undefined, asked: readonly One[]): readonly One[] {
  return known === undefined ? asked : known.filter((one) => asked.includes(one));
}
