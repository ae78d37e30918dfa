import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describeNeeding } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import { dashboards, dashboardsPage, type Panel, sentExpression } from '../../support/dashboards.js';
import { labelsInSource } from '../../support/metrics-page.js';
import { complaintsOfPromtool, missingProgram } from '../../support/prometheus.js';
import { textsOf, unknownLabels } from '../../support/promql.js';
import { builtFile } from '../../support/system/program.js';

const GRID_WIDTH = 24;
const labels = labelsInSource();
const repeated = (values: readonly unknown[]) => values.filter((value, at) => values.indexOf(value) !== at);

function overlap({ gridPos: one }: Panel, { gridPos: other }: Panel): boolean {
  return one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h;
}

it('dashboards have different ids and titles', () => {
  expect(dashboards.length).toBeGreaterThanOrEqual(4);
  expect(repeated(dashboards.map(([, { uid }]) => uid))).toEqual([]);
  expect(repeated(dashboards.map(([, { title }]) => title))).toEqual([]);
});

describe.each(dashboards)('the dashboard %s', (_file, { templating, panels }) => {
  it('lets its user choose the data source, and each panel follows', () => {
    expect(templating.list).toContainEqual(expect.objectContaining({ name: 'datasource', type: 'datasource' }));
    for (const { datasource, targets } of panels) {
      expect(datasource).toEqual({ type: 'prometheus', uid: `\${datasource}` });
      for (const target of targets) expect(target).not.toHaveProperty('datasource');
    }
  });

  it('has panels with an own id, a title, an explanation and a unit', () => {
    expect(repeated(panels.map(({ id }) => id))).toEqual([]);
    expect(repeated(panels.map(({ title }) => title))).toEqual([]);
    for (const { title, description, fieldConfig } of panels) {
      for (const text of [title, description, fieldConfig.defaults.unit]) expect(text).toMatch(/./);
    }
  });

  it('has no two panels in one place, and none beyond the edge', () => {
    const pairs = panels.flatMap((one, at) => panels.slice(at + 1).map((other) => [one, other] as const));

    expect(pairs.filter(([one, other]) => overlap(one, other)).map((pair) => pair.map(({ title }) => title))).toEqual(
      [],
    );
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(GRID_WIDTH);
  });

  it('has expressions without syntax errors, on labels that their metrics have', () => {
    for (const { targets } of panels) {
      expect(targets.length).toBeGreaterThan(0);
      expect(repeated(targets.map(({ refId }) => refId))).toEqual([]);
      for (const target of targets) {
        const expression = sentExpression(target);
        expect({ expression, errors: textsOf(expression, '⚠') }).toEqual({ expression, errors: [] });
        expect({ expression, unknown: unknownLabels(expression, labels) }).toEqual({ expression, unknown: [] });
      }
    }
  });

  it('names series by labels that the expression keeps', () => {
    for (const { legendFormat, expr } of panels.flatMap(({ targets }) => targets)) {
      const kept = textsOf(expr.replaceAll('$__rate_interval', '5m'), 'LabelName');
      for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(kept).toContain(label);
    }
  });
});

describeNeeding(describe, missingProgram('promtool'), 'promtool', () => {
  it('accepts the expressions, also their types', () => {
    const targets = dashboards.flatMap(([, { panels }]) => panels.flatMap((panel) => panel.targets));
    const rules = targets.map((target, at) => ({ record: `panel_${at}`, expr: sentExpression(target) }));

    expect(complaintsOfPromtool('check', { groups: [{ name: 'panels', rules }] })).toBe('');
  });
});

it('a label that no metric of an expression has is found', () => {
  expect(unknownLabels('sum by (team) (rate(corral_dns_writes_total{outcome="accepted"}[5m]))', labels)).toEqual([
    'team',
  ]);
});

it('the documentation lists the panels', () => {
  const page = builtFile('docs/dashboards.md');
  if (process.env.CORRAL_WRITE_DOCS) writeFileSync(page, dashboardsPage());

  expect(readFileSync(page, 'utf8')).toBe(dashboardsPage());
  for (const [file] of dashboards) {
    expect(existsSync(builtFile(`docs/images/dashboard-${file.replace('.json', '.png')}`))).toBe(true);
  }
});
