/** What we read of Jest's report in JSON. */
export type JestReport = {
  success: boolean;
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  /** Test files that could not be run at all. */
  numRuntimeErrorTestSuites: number;
  testResults: {
    name: string;
    message: string;
    assertionResults: { status: string; fullName: string }[];
  }[];
};

/** `report` is null when the tests of the package did not run: it or a package it needs could not be built. */
export type PackageResult = { name: string; report: JestReport | null };

export type Totals = {
  passed: number;
  failed: number;
  skipped: number;
  /** One line for each failure. */
  failures: string[];
};

/**
 * Adds up the packages' numbers. What could not run counts as one failure each, so that it cannot go unseen.
 *
 * @param tasksSucceeded whether turbo says so too
 */
export function addUp(results: PackageResult[], { tasksSucceeded = true } = {}): Totals {
  const totals: Totals = { passed: 0, failed: 0, skipped: 0, failures: [] };
  for (const { name, report } of results) {
    totals.passed += report?.numPassedTests ?? 0;
    totals.skipped += (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
    totals.failures.push(...failuresOf(report).map((failure) => `${name}: ${failure}`));
  }
  if (totals.failures.length === 0) {
    if (!tasksSucceeded) totals.failures.push('turbo: a task failed although no test did');
    else if (totals.passed === 0) totals.failures.push('no test ran: check the names and patterns');
  }
  totals.failed = totals.failures.length;
  return totals;
}

function failuresOf(report: JestReport | null): string[] {
  if (report === null) return ['its tests did not run'];
  const failures = report.testResults.flatMap(({ name, message, assertionResults }) => {
    const failedTests = assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
    const couldNotRun = failedTests.length === 0 && message !== '' && assertionResults.length === 0;
    return couldNotRun ? [`${name} could not be run`] : failedTests;
  });
  if (failures.length === 0 && !report.success) return ['Jest failed although no test did'];
  return failures;
}

/** The last line of `npm test`. */
export function summaryLine({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
