import { describe, expect, it } from '@jest/globals';
import { denialSentence } from './admission.js';

describe('the sentence about a refusal by a policy', () => {
  it.each([
    ['At most 5 nodes.', 'The policy small of the garden refuses the kubeconfig: At most 5 nodes.'],
    ['at most 5 nodes', 'The policy small of the garden refuses the kubeconfig: at most 5 nodes.'],
    ['', 'The policy small of the garden refuses the kubeconfig.'],
  ])('has its words, if it has any: %j', (words, sentence) => {
    expect(denialSentence({ by: 'small', words }, 'the kubeconfig')).toBe(sentence);
  });

  it('says whose policy it is', () => {
    const sentence = denialSentence({ by: 'small', words: 'no' }, 'work on the node', 'cluster');
    expect(sentence).toBe('The policy small of the cluster refuses work on the node: no.');
  });

  it('is bounded', () => {
    expect(denialSentence({ by: 'small', words: 'x'.repeat(2_000) }, 'it').length).toBeLessThan(600);
  });
});
