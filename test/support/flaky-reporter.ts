import type { Reporter, TestCase } from "vitest/node";

/** Names each test that failed and then passed when it was tried again: the default reporter shows only those that it shows anyway. */
export default class FlakyReporter implements Reporter {
  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky) process.stdout.write(`FLAKY ${test.module.relativeModuleId} > ${test.fullName}\n`);
  }
}
