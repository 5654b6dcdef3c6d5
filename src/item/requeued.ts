/** What a letter that is sent anew becomes: the id of the other item, and what the letter says of it. */

/** The letter's id with the first number at its end that the queue does not have. */
export function newIdOf(itemId: string, isTaken: (id: string) => boolean): string {
  for (let number = 2; ; number += 1) {
    const id = `${itemId}~${number}`;
    if (!isTaken(id)) return id;
  }
}

const REQUEUE = "Requeue-";

/** What people call the other item: `Requeue-` and what they call the letter's. A second time adds nothing. */
export function newNameOf(name: string | null | undefined, itemId: string): string {
  const before = name ?? itemId;
  return before.startsWith(REQUEUE) ? before : `${REQUEUE}${before}`;
}

/** Why the letter was discarded. */
export function sentAnewAs(itemId: string): string {
  return `sent anew as ${itemId}`;
}
