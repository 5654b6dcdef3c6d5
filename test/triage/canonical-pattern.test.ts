/** The canonical pattern: which words become values, and which values become one. */
import { describe, expect, test } from "vitest";
import { canonicalPattern } from "../../src/triage/canonical/canonical-pattern.ts";
import { VARIABLE_REASONS, type VariableReason } from "../../src/triage/canonical/variable-words.ts";
import { fc } from "../support/properties.ts";

const WORDS: Readonly<
  Record<VariableReason, { readonly hits: readonly string[]; readonly misses: readonly string[] }>
> = {
  mask: { hits: ["node-<num> is down", "<name>.<id> is down"], misses: ["code E0308 is bad"] },
  letter: {
    hits: ["C is bad", "column x is bad", "undefined: a", "cannot assign to a (no address)"],
    misses: ["a cart", "A cart", "I am done"],
  },
  literal: {
    hits: ["value: null: is bad", "open = true, is bad", "None is not a cart"],
    misses: ["the null is bad", "null", "error: none left"],
  },
  dotted: {
    hits: ["the module shop.cart is bad"],
    misses: ["java.io.IOException is bad", "a.b.SCREEN_ON is bad"],
  },
  symbol: {
    hits: [
      "unknown operator @@",
      "on the side of <=.",
      "the assignment (+=) is bad",
      "the operator = is bad",
    ],
    misses: ["a -> b", "a => b"],
  },
  call: { hits: ["the call of pay() is bad"], misses: ["node(s) are bad", "pay() is bad"] },
  compound: {
    hits: ["queue my-cart is bad"],
    misses: ["a read-only disk", "a built-in type", "my-cart is bad"],
  },
  type: {
    hits: [
      "a subclass of int",
      "must be int, not string",
      "operand types: array + bool",
      "types int and bool",
    ],
    misses: ["the string is empty", "of strings"],
  },
  angles: { hits: ["at <.Cart>: no field", "in <top-level> here"], misses: ["a<b is bad"] },
  user: { hits: ["session of user bob <ip>"], misses: ["user is unknown", "user name too long"] },
  operand: { hits: ["connect ECONNREFUSED redis"], misses: ["ENOENT: no such file or directory"] },
  last: {
    hits: [
      "unknown key: price",
      "access granted to: ana,ben",
      "not ready: disk, network",
      "one of ab, be, ce, de, ef, fg, gh, hi, ij, jk here",
    ],
    misses: ["state: SOLD_OUT", "failed: disk full", "cause: OutOfMemoryError", "expected one of: red, blue"],
  },
  exists: {
    hits: ["Table orders not found", "Queue inbox already exists"],
    misses: [
      "Table not found",
      "it does not exist",
      "the specified key does not exist",
      "date format is not recognized",
    ],
  },
  name: {
    hits: [
      "an instance of Cart",
      "the parameter Name is missing",
      "type is Cart but Order was expected",
      "the option KEEP_ALL must be set",
      "cannot find revision OLD to ignore",
    ],
    misses: [
      "instance of cart",
      "Cart is missing",
      "the server returned Forbidden",
      "could not connect to Redis at <ip>",
      "a KEEP_ALL is here",
      "the column DATA TYPE is bad",
    ],
  },
  index: { hits: ["<name>[str] is bad", "sshd[<num>]: closed"], misses: ["carts[<num>] is bad"] },
  bracketed: {
    hits: ["no field [price] here", "data in [orders] is old", "the profile (ana) is missing"],
    misses: ["[again] closed", "no field [price tag] here", "it failed (again) today"],
  },
  invalid: {
    hits: ['Cart.shop "<str>" is invalid: no price', "<name> is invalid: no price"],
    misses: ["the cart is invalid: no price", '"<str>" is invalid'],
  },
  segment: {
    hits: ["tar: notes: Not found in archive", "line <num>: total: readonly variable", "cart:<num>: no name"],
    misses: [
      "grep: cannot open the file",
      "inbox: not a regular file",
      "grep: error: cannot open it",
      "grep: denied: not a file",
      "sound: state: off",
    ],
  },
  unquoted: {
    hits: [
      "cannot close zebrafish",
      "Warning: zebrafish is deprecated",
      "section zebrafish has no name",
      "bad header in icon (zebrafish)",
      "the long list of fish in the zebrafish tank is empty",
    ],
    misses: [
      "cannot close connection",
      "a zebrafish cannot be closed",
      "expected a valid zebrafish",
      "cannot connect",
      "cannot re-open non-zebra",
      "zebrafish check failed with exit code 1",
      "resizeFish: Not the right size",
      "zebrafish: not the right size",
    ],
  },
  identifier: {
    hits: ["the loop variable cartTotal is captured by it", "cannot use CartTotal as the value of this"],
    misses: [
      "cartTotal is captured by the same loop",
      "a cartTotal is bad",
      "the call threw CartTotalError at once",
    ],
  },
  argument: {
    hits: ["chdir(pwd) failed", "users of Set(red, blue) are missing"],
    misses: ["the worker(s) failed", "chdir (no such file) failed"],
  },
  pair: {
    hits: ["part one, state: Staged, mode: Fast", "exceeded quota: compute, requested: <num>"],
    misses: ["state: Staged, then it failed", "part one, cause: SOLD_OUT, mode: Fast"],
  },
  subject: {
    hits: ["Tuple should have two parts", "data/cart must be string"],
    misses: ["Tuple is too long", "the tuple should be short", "not data/cart is bad"],
  },
  sigil: {
    hits: ["the variable $cart is not set", "wrong type for %s in it", "key not found: :price"],
    misses: ["$cart is not set"],
  },
  flag: {
    hits: ["cannot find -lcart here", "bad flag --no-cart"],
    misses: ["left -- ignored", "cart-pay is bad"],
  },
  coordinates: {
    hits: [
      "cannot find shop.cart:cart:jar there",
      "the constant main::CART is bad",
      "a peer of cart@latest is gone",
      "not allowed to perform shop:AddItem here",
      "Undefined subroutine &main::pay called",
    ],
    misses: ["Cart::pay is bad", "the ratio a:b is bad"],
  },
  hex: { hits: ["short object ID cafe is bad"], misses: ["the cafe is bad", "commit cart is bad"] },
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
  ["unexpected keyword <str>, expected <str>", "unexpected <*> expected <*>"],
  ['<name> "<str>" is invalid: no price', "no price"],
  ["user= host=<val>", "user <*> host <*>"],
  ["host=<val> user=", "host <*> user <*>"],
  ["allowed= <bool>", "allowed <*>"],
  ["make all failed with exit code 2", "make all failed with exit code 2"],
  ["killed (core dumped)", "killed ( core dumped )"],
  ["<path> and <num> more are missing", "<*> is missing"],
  ["takes <num> generic arguments", "takes <*> generic argument"],
  ["takes at most <num> arguments", "takes <*> argument"],
  ["the columns <str> and <str> differ", "the column <*> differ"],
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
