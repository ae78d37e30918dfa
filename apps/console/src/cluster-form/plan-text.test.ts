import { describe, expect, it } from '@jest/globals';
import { changeSentence, fieldName, sentAt } from './plan-text.js';

const pools = ['general', 'batch'];

describe('a changed field', () => {
  it.each<[string, unknown, unknown, string]>([
    ['/spec/nodePools/0/maximum', 3, 5, 'general: up to 3 → 5 nodes'],
    ['/spec/nodePools/1/minimum', 1, 2, 'batch: at least 1 → 2 nodes'],
    ['/spec/nodePools/0/machineType', 'cpx31', 'cpx41', 'general: type cpx31 → cpx41'],
    ['/spec/nodePools/0/publicIP', true, false, 'general: public addresses yes → no'],
    ['/spec/nodePools/1', null, { name: 'batch' }, 'batch: new pool'],
    ['/spec/nodePools/2', { name: 'old' }, null, 'old: removed'],
    ['/spec/nodePools/0/image', {}, { name: 'ubuntu' }, 'general: image the default → name ubuntu'],
    ['/spec/kubernetesVersion', '1.34.3', '1.35.1', 'Kubernetes 1.34.3 → 1.35.1'],
    ['/spec/plan', 'payg', 'annual', 'tariff Pay as you go → Annual'],
    ['/spec/network/podCIDR', null, '10.0.0.0/16', 'network range of the pods 10.0.0.0/16'],
    ['/spec/later', 1, null, 'later 1 → none'],
  ])('at %s, from %j to %j, is said in words', (pointer, from, to, sentence) => {
    expect(changeSentence({ pointer, from, to }, pools)).toBe(sentence);
  });

  it('is named with its pool', () => {
    expect(fieldName('/spec/nodePools/1/minimum', pools)).toBe('batch, minimum');
    expect(fieldName('/spec/nodePools/7', pools)).toBe('pool 8');
    expect(fieldName('/spec/kubernetesVersion', pools)).toBe('Kubernetes');
  });
});

describe('the value that was sent', () => {
  const spec = { region: 'hel1', nodePools: [{ name: 'a' }], network: null };
  it.each([
    ['/spec/region', 'hel1'],
    ['/spec/nodePools/0', { name: 'a' }],
    ['/spec/nodePools/1', undefined],
    ['/spec/network/pods', undefined],
    ['/spec', spec],
  ])('is found at %s', (pointer, value) => {
    expect(sentAt(spec, pointer)).toEqual(value);
  });
});
