/**
 * What `@jest/globals` stands for here. Helpers of tests are loaded once for many test files, and each file has a
 * framework of its own: what they import leads to the one of the file that runs now.
 */
const current = (name) => {
  const globals = globalThis[Symbol.for('corral.jest.globals')];
  if (globals === undefined) throw new Error(`'@jest/globals' gives ${name} to what Jest runs only.`);
  return globals[name];
};

const forward = (name) =>
  new Proxy(() => undefined, {
    apply: (_target, _self, args) => current(name)(...args),
    get: (_target, property) => current(name)[property],
    has: (_target, property) => property in current(name),
  });

export const afterAll = forward('afterAll');
export const afterEach = forward('afterEach');
export const beforeAll = forward('beforeAll');
export const beforeEach = forward('beforeEach');
export const describe = forward('describe');
export const expect = forward('expect');
export const it = forward('it');
export const jest = forward('jest');
export const test = forward('test');
