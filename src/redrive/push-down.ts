/**
 * Extracts from an expression the conditions that the store can search by: an indexed field compared with a
 * constant. The whole expression is still evaluated. No match is lost: in CEL, false && x is false even if x
 * is an error.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { LetterFilter } from "../item/letter-query.ts";
import { ITEM_STATES, type ItemState } from "../item/state.ts";

/** Adds the conditions of the expression with this syntax tree to the filter. */
export function narrowedBy(tree: ASTNode, filter: LetterFilter): LetterFilter {
  return partsOf(tree).reduce((narrow, part) => narrowBy(narrow, part), filter);
}

function partsOf(node: ASTNode): readonly ASTNode[] {
  return node.op === "&&" ? node.args.flatMap(partsOf) : [node];
}

/** Ignores values whose type differs from the field's type; evaluating the expression reports that error. */
function narrowBy(filter: LetterFilter, part: ASTNode): LetterFilter {
  const found = conditionOf(part);
  if (found === null) return filter;
  const { field, values } = found;
  if (values.every((value) => typeof value === "string")) return BY_TEXT[field]?.(filter, values) ?? filter;
  const [flag, ...others] = values;
  const isOne = field === "reprocess_eligible" && typeof flag === "boolean" && others.length === 0;
  return isOne ? byEligible(filter, flag) : filter;
}

type Condition = { readonly field: string; readonly values: readonly unknown[] };

function conditionOf(part: ASTNode): Condition | null {
  const named = fieldOf(part);
  if (named !== null) return { field: named, values: [true] };
  if (part.op === "!_") return condition(fieldOf(part.args), [false]);
  if (part.op !== "==" && part.op !== "in") return null;
  const [left, right] = part.args;
  if (part.op === "in") return right.op === "list" ? condition(fieldOf(left), valuesOf(right.args)) : null;
  return condition(fieldOf(left), valuesOf([right])) ?? condition(fieldOf(right), valuesOf([left]));
}

function condition(field: string | null, values: readonly unknown[] | null): Condition | null {
  return field === null || values === null ? null : { field, values };
}

/** Accepts `letter.queue` and `letter["queue"]`. */
function fieldOf(node: ASTNode): string | null {
  if (node.op !== "." && node.op !== "[]") return null;
  const [of, field] = node.args;
  if (of.op !== "id" || of.args !== "letter") return null;
  if (typeof field === "string") return field;
  return field.op === "value" && typeof field.args === "string" ? field.args : null;
}

function valuesOf(nodes: readonly ASTNode[]): readonly unknown[] | null {
  return nodes.every((node) => node.op === "value") ? nodes.map((node) => node.args) : null;
}

const NOTHING = { itemIds: [] } as const;

function byEligible(filter: LetterFilter, eligible: boolean): LetterFilter {
  return (filter.eligible ?? eligible) === eligible ? { ...filter, eligible } : { ...filter, ...NOTHING };
}

/** Uses the values only if they name one queue, because a filter can name only one. */
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
  state: (filter, values) => {
    const states = ITEM_STATES.filter((state) => values.includes(state));
    return { ...filter, states: common(filter.states ?? WAITING, states) };
  },
};

/** The default states of a filter. */
const WAITING: readonly ItemState[] = ["dead", "ready", "leased", "held"];

function common<One>(known: readonly One[] | undefined, asked: readonly One[]): readonly One[] {
  return known === undefined ? asked : known.filter((one) => asked.includes(one));
}
