import { invalidInput } from './api-error.js';
import { isLabelKey, isLabelValue } from './labels.js';
import type { Labels } from './model.js';

export type LabelTest = (labels: Labels) => boolean;

const has = (labels: Labels, key: string): boolean => Object.hasOwn(labels, key);

/**
 * Parses a label selector: `k`, `!k`, `k=v`, `k==v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`; commas mean and.
 * An absent label satisfies `!=` and `notin`. The empty selector selects everything.
 *
 * @throws ApiError `invalid_input`
 */
export function parseLabelSelector(selector: string): LabelTest {
  if (selector.trim() === '') return () => true;
  const tests = splitOutsideParentheses(selector).map((part) => parseRequirement(part.trim(), selector));
  return (labels) => tests.every((test) => test(labels));
}

function parseRequirement(text: string, selector: string): LabelTest {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    check(selector, isLabelKey(key) && [...values].every(isLabelValue));
    return operator === 'in'
      ? (labels) => has(labels, key) && values.has(labels[key] ?? '')
      : (labels) => !has(labels, key) || !values.has(labels[key] ?? '');
  }
  const equality = /^([^\s=!]+)\s*(==|=|!=)\s*(\S*)$/.exec(text);
  if (equality !== null) {
    const [, key = '', operator, value = ''] = equality;
    check(selector, isLabelKey(key) && isLabelValue(value));
    return operator === '!='
      ? (labels) => labels[key] !== value
      : (labels) => has(labels, key) && labels[key] === value;
  }
  const absent = text.startsWith('!');
  const key = absent ? text.slice(1).trim() : text;
  check(selector, isLabelKey(key));
  return (labels) => has(labels, key) !== absent;
}

function splitOutsideParentheses(selector: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const character of selector) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) {
      parts.push(part);
      part = '';
    } else part += character;
  }
  return [...parts, part];
}

function check(selector: string, valid: boolean): void {
  if (!valid) throw invalidInput('label_selector', `invalid label selector '${selector}'`);
}
