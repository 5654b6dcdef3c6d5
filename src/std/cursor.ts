/** Cursors of pages: short lists as opaque text. */

export function writeCursor(list: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(list)).toString("base64url");
}

/** Returns an empty list for text that is not a cursor. */
export function readCursor(cursor: string): readonly unknown[] {
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(read) ? read : [];
  } catch {
    return []; // not JSON
  }
}
