/**
 * Vite serves and bundles the page. The two headers make it cross-origin isolated: without them a
 * browser gives no shared memory, so the page could not run its workers on one heap.
 */
import { defineConfig } from 'vite';

const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

export default defineConfig({
  // Relative, so that the built page works below any path of a server.
  base: './',
  server: { host: '127.0.0.1', port: 5180, headers: isolation },
  preview: { host: '127.0.0.1', port: 5180, headers: isolation },
  // The package is installed anew under an unchanged lock file, by which the dependency optimiser
  // would judge that the copy it made before is current.
  optimizeDeps: { exclude: ['warena'] },
  worker: { format: 'es' },
  build: {
    target: 'esnext',
    rollupOptions: { input: { page: 'index.html', realm: 'realm.html' } },
  },
});
