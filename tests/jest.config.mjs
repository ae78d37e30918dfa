import base from '../jest.base.mjs';

// Most of these tests wait for processes more than they compute, so two of them share even two cores well.
export default { ...base, maxWorkers: 2 };
