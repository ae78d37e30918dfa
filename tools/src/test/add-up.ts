import type { SkipNote } from '@corral/testing';
import { countRare } from './skips.js';

/** The fields of the JSON report of Jest that we read. */
export type JestReport = {
  success: boolean;
  numPassedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    name: string;
    message: string;
    assertionResults: { status: string; fullName: string }[];
  }[];
};

export type Totals = {
  passed: number;
  failed: number;
  skipped: number;
  /** One line for each failure. */
  failures: string[];
};

/**
 * Computes the totals from the report of Jest. A file that could not run counts as one failure, so that it is noticed.
 *
 * @param report null if there is none because nothing ran
 * @param root the root of the repository, to which file names are relative
 * @param skips what tests recorded about skipped tests
 */
export function addUp(report: JestReport | null, root: string, skips: readonly SkipNote[] = []): Totals {
  if (report === null) return { passed: 0, failed: 1, skipped: 0, failures: ['Jest ended without a report'] };
  const totals: Totals = {
    passed: report.numPassedTests,
    failed: 0,
    skipped: report.numPendingTests + report.numTodoTests - countRare(skips),
    failures: report.testResults.flatMap((each) => failuresOf(each, root)),
  };
  if (totals.failures.length === 0) {
    if (totals.passed === 0 && skips.length === 0) totals.failures.push('no test ran: check the names and patterns');
    else if (!report.success) totals.failures.push('Jest failed although no test failed');
  }
  totals.failed = totals.failures.length;
  return totals;
}

function failuresOf({ name, message, assertionResults }: JestReport['testResults'][number], root: string): string[] {
  const file = name.replace(`${root.replace(/\/$/, '')}/`, '');
  const failed = assertionResults.filter(({ status }) => status === 'failed');
  if (failed.length === 0 && message !== '' && assertionResults.length === 0) return [`${file} could not be run`];
  return failed.map(({ fullName }) => `${file}: ${fullName}`);
}

/** The last line of `npm test`. */
export function summaryLine({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
