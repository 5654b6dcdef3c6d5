/**
 * What the git of a job's steps is told by its environment: no housekeeping. Many agents would do it at once, and one that
 * is ended in the middle of it leaves a lock that turns it off for the user for good. The user's own git does it later.
 */

const SETTINGS = [
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
] as const;

/** Added after the settings that the environment brings already. */
export function agentEnvironment(outside: NodeJS.ProcessEnv): Record<string, string> {
  const before = Number(outside.GIT_CONFIG_COUNT) || 0;
  const entries = SETTINGS.flatMap(([key, value], index): [string, string][] => [
    [`GIT_CONFIG_KEY_${before + index}`, key],
    [`GIT_CONFIG_VALUE_${before + index}`, value],
  ]);
  return Object.fromEntries([["GIT_CONFIG_COUNT", String(before + SETTINGS.length)], ...entries]);
}
