/** The canonical pattern: which words become values, and which values become one. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalPattern } from "../../src/triage/canonical/canonical-pattern.ts";
import { VARIABLE_REASONS, type VariableReason } from "../../src/triage/canonical/variable-words.ts";

const WORDS: Readonly<
  Record<VariableReason, { readonly hits: readonly string[]; readonly misses: readonly string[] }>
> = {
  mask: { hits: ["node-<num> is down", "<name>.<id> is down"], misses: ["code E0308 is bad"] },
  letter: { hits: ["C is bad", "column x is bad"], misses: ["a cart", "A cart", "I am done"] },
  literal: {
    hits: ["value: null: is bad", "open = true, is bad"],
    misses: ["null is bad", "error: none left"],
  },
  dotted: {
    hits: ["the module shop.cart is bad"],
    misses: ["java.io.IOException is bad", "a.b.SCREEN_ON is bad"],
  },
  symbol: {
    hits: ["unknown operator @@", "on the side of <=.", "the assignment (+=) is bad"],
    misses: ["a -> b", "a => b"],
  },
  call: { hits: ["the call of pay() is bad"], misses: ["node(s) are bad", "pay() is bad"] },
  compound: {
    hits: ["queue my-cart is bad"],
    misses: ["a read-only disk", "a built-in type", "my-cart is bad"],
  },
  type: { hits: ["a subclass of int"], misses: ["expected string", "of strings"] },
  user: { hits: ["session of user bob <ip>"], misses: ["user is unknown", "user name too long"] },
  operand: { hits: ["connect ECONNREFUSED redis"], misses: ["ENOENT: no such file or directory"] },
  last: {
    hits: ["unknown key: price"],
    misses: ["state: SOLD_OUT", "failed: disk full", "cause: OutOfMemoryError"],
  },
  exists: {
    hits: ["Table orders not found", "Queue inbox already exists"],
    misses: ["Table not found", "it does not exist"],
  },
  name: {
    hits: ["an instance of Cart", "the parameter Name is missing"],
    misses: ["instance of cart", "Cart is missing"],
  },
  index: { hits: ["<name>[str] is bad", "sshd[<num>]: closed"], misses: ["carts[<num>] is bad"] },
};

describe.each(Object.entries(WORDS))("a word is variable: %s", (reason, { hits, misses }) => {
  const reasonsOf = (pattern: string) => {
    const found: (string | undefined)[] = [];
    canonicalPattern(pattern, (_words, _index, why) => found.push(why));
    return found;
  };
  test.each(hits)("in: %s", (pattern) => expect(reasonsOf(pattern)).toContain(reason));
  test.each(misses)("not in: %s", (pattern) => expect(reasonsOf(pattern)).not.toContain(reason));
});

test("every reason is tested, and completes a sentence", () => {
  expect(Object.keys(WORDS).sort()).toEqual(Object.keys(VARIABLE_REASONS).sort());
  for (const reason of Object.values(VARIABLE_REASONS))
    expect(reason).toMatch(/^(?:it|a|an|the) .{15,}[^.]$/);
});

test.each([
  ["<num>, <num> and <num> are left", "<*> is left"],
  ["<str> of the column <str> of <str>", "<*>"],
  ["<str>: <str>", "<*> <*>"],
  ["<num> (<size>) sent", "<*> sent"],
  ["from <ip> (web) and from <ip>", "from <*> and from <*>"],
  ["killed (core dumped)", "killed ( core dumped )"],
  ["<path> and <num> more are missing", "<*> is missing"],
  ["takes <num> generic arguments", "takes <*> generic argument"],
  ["could not apply <hash>... fix the cart", "could not apply <*>"],
  ["mismatched types --> <path>", "mismatched types"],
  ["x === y", "<*> === <*>"],
  ["don't open: it's <bool>.", "don't open it's <*>"],
])("%s", (pattern, canonical) => {
  expect(canonicalPattern(pattern)).toBe(canonical);
});

test("any text has a canonical pattern, whose words are in the order of the text", () => {
  const pieces = fc.constantFrom(
    ..."a|b.c|<num>|(|)|[|]|: |, | |of |and |'|\"|=|==|...|more|-|<str>|E0308|x-y|{|}|😀".split("|"),
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
      const starts: number[] = [];
      canonicalPattern(parts.join(""), (words, index) => starts.push(words.start(index)));
      expect(starts).toEqual([...starts].sort((a, b) => a - b));
    }),
  );
});
