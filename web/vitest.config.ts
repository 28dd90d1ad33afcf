/** The model's tests run in Node: nothing of the model needs a page. */
import { defineConfig } from 'vitest/config';

export default defineConfig({ test: { include: ['test/**/*.test.ts'], environment: 'node' } });
