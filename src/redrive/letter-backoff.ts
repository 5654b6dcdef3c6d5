/** How long a letter rests between its redrives: the more often it came back, the longer, unless a person forces it. */

const FIRST_MS = 1000;
const CAP_MS = 300_000;

/**
 * Entry n is for a letter that was redriven n times: so long after its burial it is not due. The first redrive waits for
 * nothing; each wait is twice the one before; past the end, the last entry holds.
 */
export const SINCE_BURIAL_MS: readonly number[] = [0, ...doublings()];

function doublings(): number[] {
  const waits: number[] = [];
  for (let ms = FIRST_MS; ms < CAP_MS; ms *= 2) waits.push(ms);
  return [...waits, CAP_MS];
}
