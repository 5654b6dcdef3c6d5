/** Waits for an external condition, such as a file that another process writes, up to a deadline. */

const LOOK_MS = 10;
const DEADLINE_MS = 60_000;

/** Resolves when the condition holds; the error after the deadline names the condition. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = DEADLINE_MS,
): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
