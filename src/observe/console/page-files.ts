// The page's own files. From source, TypeScript is served with its types stripped, module by module; a bundle has them built.
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { notFound, type Reply } from '../reply.ts';

const IS_SOURCE = extname(import.meta.url) === '.ts';
const FOLDER = new URL(IS_SOURCE ? '../../../console/' : './console/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Nothing is loaded from elsewhere, and nothing that is not a file of ours is run. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/** A file by its path in the page's folder. */
export function pageFile(path: string): Reply {
  const name = path === '/' ? 'index.html' : path.slice(1);
  if (!/^[a-z][a-z-]*\.(html|css|js|ts|svg)$/.test(name)) return notFound();
  const body = IS_SOURCE ? fromSource(name) : read(name);
  return body === undefined
    ? notFound()
    : { status: 200, headers: { ...SECURITY_HEADERS, 'Content-Type': TYPES[extname(name)]! }, body };
}

/** `main.js` is the program; its modules name each other as the source does. */
function fromSource(name: string): string | undefined {
  const text = read(name === 'main.js' ? 'main.ts' : name);
  return text !== undefined && /\.(ts|js)$/.test(name) ? stripTypeScriptTypes(text) : text;
}

function read(name: string): string | undefined {
  const file = fileURLToPath(new URL(name, FOLDER));
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
