/**
 * Tunes V8 for commands that run work on a machine with few cores. Has no effect on programs that use the
 * library.
 */

/** With more cores, V8's own threads do not compete with the commands. */
const CORES_MAX = 4;
const RUNNING_COMMANDS: ReadonlySet<string> = new Set(["map", "run", "resume", "worker"]);

/**
 * In runs of 6,000 commands, V8's threads for optimisation and garbage collection used a third to a half as
 * much CPU as the main thread. With optimisation limited to the hottest code and a single collector thread,
 * the process needs 12 to 23 % less CPU in total. The name of the first flag is that of Node 20. Later
 * versions delay optimisation by themselves.
 */
const FLAGS = ["--interrupt-budget=800000", "--no-parallel-scavenge"];

export async function tuneForRunning([command = ""]: readonly string[]): Promise<void> {
  const isTuned = process.versions.node.startsWith("20.") && RUNNING_COMMANDS.has(command);
  if (!isTuned) return;
  const { availableParallelism } = await import("node:os"); // imported late, because other commands start faster without it
  if (availableParallelism() > CORES_MAX) return;
  const { setFlagsFromString } = await import("node:v8");
  for (const flag of FLAGS) setFlagsFromString(flag);
}
