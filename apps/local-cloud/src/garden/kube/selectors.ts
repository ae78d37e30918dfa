import type { Labels } from './object.js';
import { badRequest } from './status-error.js';

export type LabelTest = (labels: Labels) => boolean;
export type FieldTest = (fields: Readonly<Record<string, string>>) => boolean;

const keyPattern = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const valuePattern = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

export const isLabelKey = (key: string): boolean => keyPattern.test(key);
export const isLabelValue = (value: string): boolean => valuePattern.test(value);

/**
 * Parses `labelSelector`: `k`, `!k`, `k=v`, `k==v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`; commas mean and.
 *
 * @throws StatusError 400
 */
export function parseLabelSelector(selector: string): LabelTest {
  if (selector.trim() === '') return () => true;
  const tests = selector.split(/,(?![^()]*\))/).map((part) => parseRequirement(part.trim(), selector));
  return (labels) => tests.every((test) => test(labels));
}

function parseRequirement(text: string, selector: string): LabelTest {
  const refuse = (): never => {
    throw badRequest(`unable to parse requirement: ${JSON.stringify(text)} in selector ${JSON.stringify(selector)}`);
  };
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    if (!isLabelKey(key) || ![...values].every(isLabelValue)) refuse();
    return (labels) => (labels[key] !== undefined && values.has(labels[key])) === (operator === 'in');
  }
  const equality = /^([^\s=!]+)\s*(==|=|!=)\s*(\S*)$/.exec(text);
  if (equality !== null) {
    const [, key = '', operator, value = ''] = equality;
    if (!isLabelKey(key) || !isLabelValue(value)) refuse();
    return (labels) => (labels[key] === value) === (operator !== '!=');
  }
  const absent = text.startsWith('!');
  const key = absent ? text.slice(1).trim() : text;
  if (!isLabelKey(key)) refuse();
  return (labels) => (labels[key] === undefined) === absent;
}

/**
 * Parses `fieldSelector`: `field=value`, `field==value`, `field!=value`; commas mean and.
 *
 * @param known names that the resource can be selected by
 * @throws StatusError 400
 */
export function parseFieldSelector(selector: string, known: ReadonlySet<string>): FieldTest {
  if (selector.trim() === '') return () => true;
  const tests = selector.split(',').map((part): FieldTest => {
    const [, field = '', operator, value = ''] = /^([^=!]+)(==|=|!=)(.*)$/.exec(part.trim()) ?? [];
    if (operator === undefined)
      throw badRequest(`invalid selector: ${JSON.stringify(selector)}; can't understand ${JSON.stringify(part)}`);
    if (!known.has(field)) throw badRequest(`field label not supported: ${field}`);
    return (fields) => ((fields[field] ?? '') === value) === (operator !== '!=');
  });
  return (fields) => tests.every((test) => test(fields));
}
