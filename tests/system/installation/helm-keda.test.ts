import { describeNeeding } from '@corral/testing';
import { findGoProgram, missingGoProgram } from '@corral/testing/go-programs';
import { describe, expect, it } from '@jest/globals';
import { renderChart } from '../../support/kubernetes/chart.js';
import { complaintsOfPromtool, missingProgram } from '../../support/prometheus.js';

const helm = findGoProgram('helm') ?? '';
const missingHelm = helm === '' ? missingGoProgram('helm') : null;

describeNeeding(
  describe,
  missingHelm ?? missingProgram('promtool'),
  'the number that KEDA scales the reconciler on',
  () => {
    const series = (name: string, labels: string, pod: string, values: string) => ({
      series: `${name}{namespace="default", job="corral-reconciler-metrics", pod="${pod}"${labels}}`,
      values,
    });
    const due = (kind: string, pod: string, values: string) =>
      series('corral_reconcile_due', `, kind="${kind}"`, pod, values);
    const answers = (pod: string, fast: number, slow: number) =>
      [
        ['0.1', fast],
        ['5', slow],
        ['+Inf', slow],
      ].map(([le, each]) => series('corral_garden_call_seconds_bucket', `, le="${le}"`, pod, `0+${each}x30`));
    const [clusters, servers] = [due('cluster', 'a', '40x30'), due('server', 'a', '4x30')];

    const cases = [
      ['all kinds, once for all replicas', [clusters, servers, due('cluster', 'b', '40x30')], 44],
      ['the same while the garden answers fast', [clusters, ...answers('a', 99, 100)], 40],
      ['none while the garden is slow', [clusters, ...answers('a', 10, 100)], 0],
      [
        'none after a pause for the garden',
        [clusters, series('corral_reconcile_pauses_total', ', reason="away"', 'a', '0x12 1x18')],
        0,
      ],
      ['not of another installation', [{ ...clusters, series: clusters.series.replace('default', 'other') }], null],
      ['absent without a scraped reconciler, which KEDA takes for an error', [], null],
    ] as const;

    it('counts all kinds once for all replicas while the garden is fast, and is absent where there is no reconciler', () => {
      const scaled = renderChart(helm, 'ci/clusters-values.yaml').find(({ kind }) => kind === 'ScaledObject');
      const { query, ignoreNullValues } = scaled?.spec.triggers[0].metadata ?? {};
      const tests = cases.map(([name, input_series, value]) => ({
        name,
        interval: '1m',
        input_series,
        promql_expr_test: [
          { expr: query, eval_time: '15m', exp_samples: value === null ? [] : [{ labels: '{}', value }] },
        ],
      }));
      expect(complaintsOfPromtool('test', { rule_files: [], evaluation_interval: '1m', tests })).toBe('');
      expect(ignoreNullValues).toBe('false');
    });
  },
);
