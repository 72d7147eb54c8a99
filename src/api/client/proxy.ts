// In: the server's URL, the kubeconfig's proxy-url, the environment.  Out: the proxy to go through, if any. The rules are
// those of Go's net/http, because operators' NO_PROXY values are written for it: networks like 10.96.0.0/12 count.
import { cidrContains, isLoopback, parseCidr, parseIp } from '../../lib/ip.ts';
import { ApiError } from './error.ts';

export function proxyFor(server: URL, proxyUrl: string, env: NodeJS.ProcessEnv): URL | undefined {
  if (proxyUrl !== '') return parseProxy(proxyUrl, 'proxy-url');
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const value = env[name] || env[name.toLowerCase()] || '';
  if (value === '' || isExempt(server, env.NO_PROXY || env.no_proxy || '')) return undefined;
  return parseProxy(value, name);
}

function parseProxy(text: string, origin: string): URL {
  const url = text.includes('://') ? text : `http://${text}`;
  const proxy = URL.canParse(url) ? new URL(url) : undefined;
  if (!proxy || !/^(https?|socks5h?):$/.test(proxy.protocol) || proxy.hostname === '') {
    throw new ApiError({
      code: 'API_CONFIG',
      message: `${origin}: not an http, https or socks5 proxy URL: "${withoutSecrets(text)}"`,
    });
  }
  return proxy;
}

function withoutSecrets(text: string): string {
  return text.replace(/\/\/[^/@]*@/, '//');
}

function isExempt(server: URL, noProxy: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  const ip = parseIp(host);
  if (host === 'localhost' || (ip !== undefined && isLoopback(ip))) return true;
  return noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== '' && covers(entry, host, ip, port));
}

function covers(entry: string, host: string, ip: string | undefined, port: string): boolean {
  if (entry === '*') return true;
  const network = parseCidr(entry);
  if (network !== undefined) return ip !== undefined && cidrContains(network, ip);
  const address = parseIp(entry);
  if (address !== undefined) return address === ip;

  const withPort = /^(.*):(\d+)$/.exec(entry);
  if (withPort && withPort[2] !== port) return false;
  const name = (withPort ? withPort[1]! : entry).replace(/^\[|\]$/g, '').replace(/^\*\./, '.');
  if (ip !== undefined) return parseIp(name) === ip;
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`);
}
