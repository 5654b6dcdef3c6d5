/** Returns the result of the action, or undefined when it throws: for what may be missing or unreadable. */
export function tryTo<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
