import { readFileSync, writeFileSync } from 'node:fs';
import { describeNeeding } from '@corral/testing';
import { findGoProgram, missingGoProgram } from '@corral/testing/go-programs';
import { describe, expect, it } from '@jest/globals';
import { kindsFile, renderChart, renderText, runKubeconform, valueSets } from '../../../support/kubernetes/chart.js';
import { extractKinds } from '../../../support/kubernetes/extract-kinds.js';

const [helm, kubeconform] = [findGoProgram('helm') ?? '', findGoProgram('kubeconform') ?? ''];
const missingKubeconform =
  helm === '' ? missingGoProgram('helm') : kubeconform === '' ? missingGoProgram('kubeconform') : null;
describeNeeding(describe, missingKubeconform, 'kubeconform', () => {
  it.each(valueSets)('finds every object of the chart valid, with %s', (values) => {
    const { length } = renderChart(helm, values);

    expect(runKubeconform(kubeconform, renderText(helm, values))).toContain(
      `Valid: ${length}, Invalid: 0, Errors: 0, Skipped: 0`,
    );
  });

  it('refuses an object with a member that its kind does not have', () => {
    const rendered = renderText(helm, 'ci/dns-values.yaml').replace('unhealthyPodEvictionPolicy', 'unhealthyPolicy');

    expect(() => runKubeconform(kubeconform, rendered)).toThrow(/unhealthyPolicy/);
  });
});

it('the schemas of the kinds are those of their sources', () => {
  const extracted = extractKinds();
  if (extracted === null) throw new Error('The sources could not be read: this needs Go and a module proxy.');
  const text = `${JSON.stringify(extracted)}\n`;
  if (process.env.CORRAL_WRITE_DOCS) writeFileSync(kindsFile, text);

  expect(JSON.parse(readFileSync(kindsFile, 'utf8'))).toEqual(extracted);
});
