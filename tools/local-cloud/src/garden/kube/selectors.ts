import { type LabelTest, parseLabelSelector as parse } from '../../labels.js';
import { badRequest } from './status-error.js';

export type FieldTest = (fields: Readonly<Record<string, string>>) => boolean;

/** Parses `labelSelector`. @throws StatusError 400 */
export const parseLabelSelector = (selector: string): LabelTest =>
  parse(selector, (part) =>
    badRequest(`unable to parse requirement: ${JSON.stringify(part)} in selector ${JSON.stringify(selector)}`),
  );

/**
 * Parses `fieldSelector`: `field=value`, `field==value`, `field!=value`. Commas mean AND.
 *
 * @param known fields that the resource can be selected by
 * @throws StatusError 400
 */
export function parseFieldSelector(selector: string, known: readonly string[]): FieldTest {
  if (selector.trim() === '') return () => true;
  const tests = selector.split(',').map((part): FieldTest => {
    const [, field = '', operator, value = ''] = /^([^=!]+)(==|=|!=)(.*)$/.exec(part.trim()) ?? [];
    if (operator === undefined)
      throw badRequest(`invalid selector: ${JSON.stringify(selector)}; can't understand ${JSON.stringify(part)}`);
    if (!known.includes(field)) throw badRequest(`field label not supported: ${field}`);
    return (fields) => ((fields[field] ?? '') === value) === (operator !== '!=');
  });
  return (fields) => tests.every((test) => test(fields));
}
