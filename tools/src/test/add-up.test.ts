import { describe, expect, it } from '@jest/globals';
import { addUp, type JestReport, summaryLine } from './add-up.js';

const report = (changes: Partial<JestReport> = {}): JestReport => ({
  success: true,
  numPassedTests: 0,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numRuntimeErrorTestSuites: 0,
  testResults: [],
  ...changes,
});

describe('addUp', () => {
  it('adds the numbers of all packages', () => {
    const totals = addUp([
      { name: 'auth', report: report({ numPassedTests: 3, numPendingTests: 1 }) },
      { name: 'queue', report: report({ numPassedTests: 4, numTodoTests: 1 }) },
    ]);

    expect(totals).toEqual({ passed: 7, failed: 0, skipped: 2, failures: [] });
  });

  it('names each failed test and its package', () => {
    const testResults = [
      {
        name: '/a.test.ts',
        message: 'expected 1',
        assertionResults: [
          { status: 'passed', fullName: 'zones lists' },
          { status: 'failed', fullName: 'zones answers 404' },
          { status: 'failed', fullName: 'zones answers 401' },
        ],
      },
    ];

    const totals = addUp([
      { name: 'dns', report: report({ success: false, numPassedTests: 1, numFailedTests: 2, testResults }) },
    ]);

    expect(totals).toMatchObject({
      passed: 1,
      failed: 2,
      failures: ['dns: zones answers 404', 'dns: zones answers 401'],
    });
  });

  it('counts a test file that could not be run as one failure', () => {
    const testResults = [{ name: '/a.test.ts', message: 'SyntaxError', assertionResults: [] }];

    const totals = addUp([
      { name: 'dns', report: report({ success: false, numRuntimeErrorTestSuites: 1, testResults }) },
    ]);

    expect(totals).toMatchObject({ failed: 1, failures: ['dns: /a.test.ts could not be run'] });
  });

  it('counts a package whose tests did not run, and a Jest that fails for no test, as one failure each', () => {
    const totals = addUp([
      { name: 'dns', report: null },
      { name: 'auth', report: report({ success: false, numPassedTests: 5 }) },
    ]);

    expect(totals).toMatchObject({ passed: 5, failed: 2 });
  });

  it('does not call it a success when a task failed or no test ran', () => {
    const passing = [{ name: 'auth', report: report({ numPassedTests: 5 }) }];

    expect(addUp(passing, { tasksSucceeded: false })).toMatchObject({ passed: 5, failed: 1 });
    expect(addUp([{ name: 'auth', report: report() }])).toMatchObject({ passed: 0, failed: 1 });
  });
});

describe('summaryLine', () => {
  it.each([
    [{ passed: 12, failed: 0, skipped: 0, failures: [] }, '12 passed, 0 failed'],
    [{ passed: 12, failed: 1, skipped: 3, failures: [] }, '12 passed, 1 failed, 3 skipped'],
  ])('mentions skipped tests only where there are some', (totals, line) => {
    expect(summaryLine(totals)).toBe(line);
  });
});
