import { atomicStruct, text } from '../../fields/schema.js';

export const objectReference = atomicStruct({
  kind: text,
  namespace: text,
  name: text,
  uid: text,
  apiVersion: text,
  resourceVersion: text,
  fieldPath: text,
});

export const crossVersionReference = atomicStruct({ kind: text, name: text, apiVersion: text });
