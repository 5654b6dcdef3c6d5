/** Who changes letters: kept with every note, edit, discard and operation. */
import { hostname, userInfo } from "node:os";

/** `REDRIVE_AUTHOR`, else the user at this machine. */
export function authorOf(env: NodeJS.ProcessEnv): string {
  return env.REDRIVE_AUTHOR?.trim() || `${userOf(env)}@${hostname()}`;
}

function userOf(env: NodeJS.ProcessEnv): string {
  try {
    return userInfo().username;
  } catch {
    return env.USER ?? "unknown"; // a container may run under a number that has no name
  }
}
