/**
 * Compares the repository with the store after a workflow job. A pure function: takes both as data and returns one sentence
 * for each violated guarantee.
 */

/**
 * `items`: `{ itemId, state }`; `merges`: the item ids that the trailers of the job's merge commits name, one each;
 * `files`: item id to the text of its file in the user's branch; `letters`: `{ itemId, worktreePath, branchName }`;
 * `worktrees` and `branches` as git lists them, without the user's own; `folders` below the home's `worktrees`;
 * `checkout`: `{ status, branch, moves }` of the user, where `moves` are the first-parent commits since the start.
 */
export function judgeWorkflow(testimony) {
  return [
    ...judgeMerges(testimony),
    ...judgePlaces(testimony),
    ...judgeCheckout(testimony.checkout),
    ...testimony.locks.map((path) => `a lock was left: ${path}`),
  ];
}

function judgeMerges({ items, merges, files }) {
  const counts = new Map();
  for (const id of merges) counts.set(id, (counts.get(id) ?? 0) + 1);
  return items.flatMap(({ itemId, state }) => {
    const wanted = state === "done" ? 1 : 0;
    const merged = counts.get(itemId) ?? 0;
    const text = files.get(itemId);
    const problems = [];
    if (merged !== wanted) problems.push(`${itemId} is ${state} and was merged ${merged} times`);
    if (wanted === 1 && text !== `${itemId}\n`)
      problems.push(`${itemId} is done, and its file holds ${JSON.stringify(text ?? null)}`);
    if (wanted === 0 && text !== undefined)
      problems.push(`${itemId} is ${state}, and its work is in the branch`);
    return problems;
  });
}

/** Only worktrees and branches named by letters remain, and all of those exist. */
function judgePlaces({ letters, worktrees, branches, folders, jobBranch }) {
  const places = letters.flatMap(({ worktreePath }) => worktreePath ?? []);
  const names = letters.flatMap(({ branchName }) => branchName ?? []);
  const jobBranches = letters.length > 0 ? [jobBranch] : [];
  return [
    ...compare("worktree", worktrees, places),
    ...compare("folder", folders, places),
    ...compare("branch", branches, [...names, ...jobBranches]),
  ];
}

function compare(what, found, wanted) {
  return [
    ...found.filter((one) => !wanted.includes(one)).map((one) => `the ${what} ${one} leaked`),
    ...wanted.filter((one) => !found.includes(one)).map((one) => `the ${what} ${one} is gone`),
  ];
}

/** The user's checkout is clean and unchanged, except for the merges of the job. */
export function judgeCheckout({ status, branch, moves }) {
  const problems = [];
  if (status !== "")
    problems.push(`the user's checkout is dirty: ${status.split("\n").slice(0, 5).join(", ")}`);
  if (branch !== "main") problems.push(`the user's checkout is at ${branch || "a detached HEAD"}`);
  for (const subject of moves) {
    if (!/^Merge redrive\/\S+: the work of job /.test(subject))
      problems.push(`the user's branch has "${subject}"`);
  }
  return problems;
}
