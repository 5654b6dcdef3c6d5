/** Reads values that were thrown, which may be of any type. */

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Returns the code of a system error, such as `ENOENT`. */
export function codeOf(thrown: unknown): string | undefined {
  const code: unknown = thrown instanceof Error ? Reflect.get(thrown, "code") : undefined;
  return typeof code === "string" ? code : undefined;
}
