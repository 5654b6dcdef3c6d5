import { expect, test } from "vitest";
import { fromProdigy } from "../../src/cli/prodigy-words.ts";

test.each([
  ["cook w.yml -n 3", "run w.yml -n 3"],
  ["run w.yml --max-iterations 3 --param a=b", "run w.yml --iterations 3 --var a=b"],
  ["run w.yml --param-file p.json", "run w.yml --var-file p.json"],
  ["dlq stats --job-id j --json", "dlq stats j --json"],
  ["dlq stats --workflow-id=j", "dlq stats j"],
  ["dlq analyze --workflow-id j", "dlq analyze --job j"],
  ["run w.yml --dry-run -vvv -y --auto-accept", "run w.yml --dry-run"],
  ["run w.yml --args -v -v", "run w.yml --args -v"],
  ["map -y -- tool -v", "map -y -- tool -v"],
  ["worktree ls --json", "worktrees list --json"],
  ["worktree clean --force", "worktrees clean --force"],
  ["worktree", "worktrees"],
  ["sessions ls", "jobs"],
  ["sessions", "jobs"],
  ["progress j", "status j"],
  ["resume-job j --max-parallel 4", "resume j --max-parallel 4"],
  ["migrate-yaml w.yml", "migrate-workflow w.yml"],
  ["dlq list --job-id j --eligible", "dlq list --job j --eligible"],
  ["dlq purge --older-than-days 30 --job-id=j --yes", "dlq purge --older-than 30d --job=j --yes"],
  ["dlq purge --older-than-days=30", "dlq purge --older-than=30d"],
  ["events ls --job-id j --since 5m", "events j --since 5m"],
  ["events follow --job-id=j", "events j --follow"],
  ["events follow", "events follow"],
  ["map -- tool --job-id 7", "map -- tool --job-id 7"],
  ["", ""],
])("%s", (theirs, ours) => {
  const words = (line: string) => line.split(" ").filter(Boolean);
  expect(fromProdigy(words(theirs))).toEqual(words(ours));
});
