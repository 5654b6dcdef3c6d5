/** What the commands that move letters from group to group say meanwhile. */
import type { Context } from "./context.ts";
import { thousands } from "./progress-rate.ts";

const NOTE_EVERY = 10_000;

/** Says now and then how far it is; a few letters are moved before anybody wonders. */
export function movingNotes(context: Context): (letters: number) => void {
  let next = NOTE_EVERY;
  return (letters) => {
    if (letters < next) return;
    context.note(`${thousands(letters)} letters looked at`);
    next = letters + NOTE_EVERY;
  };
}
