/**
 * Serves web/ with Vite: `node serve.mjs <web folder> <port>`. Ends when its input does, which
 * happens however the process that started it ends: no server is ever left behind.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [root, port] = process.argv.slice(2);
// Vite is a package of web/, not of this folder.
const vite = createRequire(join(root, 'package.json')).resolve('vite');
const { createServer } = await import(pathToFileURL(vite).href);

process.stdin.on('end', () => process.exit()).resume();
const server = await createServer({
  root,
  logLevel: 'warn',
  server: { host: '127.0.0.1', port: Number(port), strictPort: true },
});
await server.listen();
