/** Returns the result of the action, or undefined if it throws. */
export function tryTo<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
