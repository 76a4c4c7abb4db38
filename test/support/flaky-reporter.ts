import type { Reporter, TestCase } from "vitest/node";

/** Names each test that failed and then passed when it was tried again, and why it failed: the default reporter shows only those that it shows anyway. */
export default class FlakyReporter implements Reporter {
  onTestCaseResult(test: TestCase): void {
    if (!test.diagnostic()?.flaky) return;
    const [why = ""] = (test.result().errors ?? []).map(({ message }) => message.replaceAll(/\s+/g, " ").slice(0, 500));
    process.stdout.write(`FLAKY ${test.module.relativeModuleId} > ${test.fullName}: ${why}\n`);
  }
}
