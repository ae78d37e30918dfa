import { expect, it } from '@jest/globals';
import { createMetrics } from './metrics.js';

it('the build is a metric of every process', async () => {
  const text = await createMetrics({ service: 'test' }).registry.metrics();

  expect(text).toContain(
    `corral_build_info{version="development",commit="",node="${process.version}",service="test"} 1`,
  );
});
