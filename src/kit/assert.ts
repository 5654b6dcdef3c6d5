/** Assertions. One that fails is a bug of ours: it crashes, and nobody catches it to go on. */

export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

/** Throws unless the condition holds. The message says which rule was broken. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Marks a branch that the types say cannot be reached. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}
