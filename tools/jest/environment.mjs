import { TestEnvironment as NodeEnvironment } from 'jest-environment-node';

const TEST_FILE = Symbol.for('corral.test.file');

/** Jest's environment for Node.js, which also explains a failed test by its processes and what the file promised to explain. */
export default class TestEnvironment extends NodeEnvironment {
  constructor(config, context) {
    super(config, context);
    /** See `packages/testing/src/test-file.ts`. */
    this.testFile = { path: context.testPath, testsAdded: 0, explanations: new Set(), processes: [] };
    this.global[TEST_FILE] = this.testFile;
    this.described = new Set();
  }

  async handleTestEvent(event) {
    if (event.name === 'add_test') this.testFile.testsAdded += 1;
    const { name, test, describeBlock, hook } = event;
    if (name === 'test_fn_failure' || (name === 'hook_failure' && test)) await this.describeFailure(test);
    else if (name === 'hook_failure') await this.describeFailure(describeBlock, hook.type);
    else if (name === 'test_done' && test.errors.length > 0 && !this.hasDescribedBlock(test))
      await this.describeFailure(test);
  }

  /** Describes the failure of a test or a block of tests, once. What explains it is asked before the hooks that clean up. */
  async describeFailure(failed, hookType) {
    if (this.described.has(failed)) return;
    this.described.add(failed);
    const { describeFailure } = await import('@corral/testing');
    const what = [...titlesOf(failed), ...(hookType ? [hookType] : [])].join(' › ');
    process.stderr.write(await describeFailure(this.testFile, what));
  }

  /** When `beforeAll` fails, each test below it fails for the same reason. */
  hasDescribedBlock(failed) {
    for (let at = failed; at; at = at.parent) if (this.described.has(at)) return true;
    return false;
  }

  async teardown() {
    if (this.described.size > 0) (await import('@corral/testing')).writeLogs(this.testFile); // now with how all of them ended
    await super.teardown();
  }
}

function titlesOf(failed) {
  const titles = [];
  for (let at = failed; at?.parent; at = at.parent) titles.unshift(at.name);
  return titles;
}
