/**
 * The order of the test files: those that take long start first, so that no worker still has one of them when the others have
 * ended. Short files come last and fill the gaps. Files of one project that share workers stay together.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take more than 20 seconds on two cores, longest first. Their times decide the order alone, nothing else. */
const LONG = [
  "torture/campaign",
  "simulation/postgres",
  "simulation/faults",
  "examples/guide",
  "torture/two-clones",
  "console/keyboard",
  "console/pages",
  "journeys/68-agent-limits",
  "journeys/53-retried-work-is-merged",
  "engines/postgres/unknown-error",
  "engines/postgres",
  "journeys/22-run-again",
  "journeys/99-merge-strategies",
  "engines/letter-conditions",
  "torture/postgres",
  "journeys/98-two-clones",
  "journeys/06-letters",
  "journeys/33-rough-handling",
  "journeys/99-verify",
  "console/processes",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return at === -1 ? LONG.length : at;
    };
    const projects = ["console", "whole", "unit-alone", "unit"];
    const sorted = await super.sort(files);
    return sorted
      .map((file) => ({ file, rank: rank(file), project: projects.indexOf(file.project.name) }))
      .sort((a, b) => a.rank - b.rank || a.project - b.project)
      .map(({ file }) => file);
  }
}
