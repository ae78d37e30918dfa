export * from './dns/answers.js';
export * from './dns/error-codes.js';
export * from './dns/limits.js';
export * from './dns/names.js';
export * from './dns/openapi.js';
export * from './dns/requests.js';
export * from './dns/routes.js';
export { InvalidBody, type InvalidField } from './parser-for.js';
