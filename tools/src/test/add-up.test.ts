import { describe, expect, it } from '@jest/globals';
import { addUp, type JestReport, summaryLine } from './add-up.js';

const report = (changes: Partial<JestReport> = {}): JestReport => ({
  success: true,
  numPassedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [],
  ...changes,
});

describe('addUp', () => {
  it('uses the numbers of the report', () => {
    const totals = addUp(report({ numPassedTests: 7, numPendingTests: 1, numTodoTests: 1 }), '/corral');

    expect(totals).toEqual({ passed: 7, failed: 0, skipped: 2, failures: [] });
  });

  it('does not count skipped tests that need something rare', () => {
    const skips = [
      { what: 'the hcloud CLI', how: 'put it on PATH', isRare: true, tests: 14, lesser: 0 },
      { what: 'Redis', how: 'install it', tests: 2, lesser: 0 },
    ];

    const totals = addUp(report({ numPassedTests: 7, numPendingTests: 16 }), '/corral', skips);

    expect(totals).toMatchObject({ passed: 7, skipped: 2 });
  });

  it('does not fail when nothing ran for a known reason', () => {
    const skips = [{ what: 'the hcloud CLI', how: 'put it on PATH', isRare: true, tests: 14, lesser: 0 }];

    expect(addUp(report({ numPendingTests: 14 }), '/corral', skips)).toMatchObject({ failed: 0, skipped: 0 });
  });

  it('names each failed test and its file', () => {
    const testResults = [
      {
        name: '/corral/apps/dns-gateway/test/zones.test.ts',
        message: 'expected 1',
        assertionResults: [
          { status: 'passed', fullName: 'zones lists' },
          { status: 'failed', fullName: 'zones answers 404' },
          { status: 'failed', fullName: 'zones answers 401' },
        ],
      },
    ];

    const totals = addUp(report({ success: false, numPassedTests: 1, testResults }), '/corral');

    expect(totals).toMatchObject({
      passed: 1,
      failed: 2,
      failures: [
        'apps/dns-gateway/test/zones.test.ts: zones answers 404',
        'apps/dns-gateway/test/zones.test.ts: zones answers 401',
      ],
    });
  });

  it('counts a test file that could not be run as one failure', () => {
    const testResults = [{ name: '/corral/tests/a.test.ts', message: 'SyntaxError', assertionResults: [] }];

    const totals = addUp(report({ success: false, numPassedTests: 3, testResults }), '/corral/');

    expect(totals).toMatchObject({ failed: 1, failures: ['tests/a.test.ts could not be run'] });
  });

  it.each<[string, JestReport | null]>([
    ['Jest left no report', null],
    ['Jest failed without a failed test', report({ success: false, numPassedTests: 5 })],
    ['no test ran', report()],
  ])('reports no success when %s', (_what, given) => {
    expect(addUp(given, '/corral')).toMatchObject({ failed: 1 });
  });
});

describe('summaryLine', () => {
  it.each([
    [{ passed: 12, failed: 0, skipped: 0, failures: [] }, '12 passed, 0 failed'],
    [{ passed: 12, failed: 1, skipped: 3, failures: [] }, '12 passed, 1 failed, 3 skipped'],
  ])('mentions skipped tests only if there are some', (totals, line) => {
    expect(summaryLine(totals)).toBe(line);
  });
});
