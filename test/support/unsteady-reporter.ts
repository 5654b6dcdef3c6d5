/** Lists flaky tests: those that passed only on a retry. They need repair, and a green run must not hide them. */
import type { Reporter, TestModule } from "vitest/node";

export class UnsteadyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests("passed")) {
        if (!test.diagnostic()?.flaky) continue;
        const [error] = test.result().errors ?? [];
        process.stdout.write(
          `UNSTEADY ${module.relativeModuleId} > ${test.fullName}: ${error?.message ?? "no message"}\n`,
        );
      }
    }
  }
}
