/** In whose name Redrive commits: the user's, as configured; its own when git knows none. */
import type { Git } from "./git.ts";

const NAME = "Redrive";
const EMAIL = "redrive@localhost";

/** What is added to git's environment so that a commit can be made: nothing when the user has a name and an address. */
export async function identityEnvironment(git: Git): Promise<Readonly<Record<string, string>>> {
  const [author, committer] = await Promise.all([isKnown(git, "AUTHOR"), isKnown(git, "COMMITTER")]);
  return {
    ...(!author && { GIT_AUTHOR_NAME: NAME, GIT_AUTHOR_EMAIL: EMAIL }),
    ...(!committer && { GIT_COMMITTER_NAME: NAME, GIT_COMMITTER_EMAIL: EMAIL }),
  };
}

/** A name that git would make up from the machine's does not count. */
async function isKnown(git: Git, role: "AUTHOR" | "COMMITTER"): Promise<boolean> {
  const result = await git.ask(["-c", "user.useConfigOnly=true", "var", `GIT_${role}_IDENT`]);
  return result.exitCode === 0;
}
