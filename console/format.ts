// Numbers and times as people read them.

export function rateText(rate: number): string {
  if (rate === 0) return '0/s';
  if (rate < 10) return `${rate.toFixed(1)}/s`;
  return rate < 10_000 ? `${Math.round(rate)}/s` : `${(rate / 1000).toFixed(1)}k/s`;
}

export function millisecondsText(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

export function agoText(at: number, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h ago` : `${Math.floor(seconds / 86_400)} d ago`;
}

export function clockText(at: number): string {
  return new Date(at).toLocaleTimeString(undefined, { hour12: false });
}

/** `shop/cart` apart, so that the namespace can stand back. */
export function nameParts(name: string): readonly [namespace: string, name: string] {
  const slash = name.indexOf('/');
  return [name.slice(0, slash), name.slice(slash + 1)];
}

/** `Pod shop/cart-7f` as `cart-7f`. */
export function targetText(target: string): string {
  return target.slice(Math.max(target.lastIndexOf('/'), target.lastIndexOf(' ')) + 1);
}

export const FRONTEND_TEXT: Readonly<Record<string, string>> = {
  'cluster-ip': 'cluster IP',
  'external-ip': 'external IP',
  'load-balancer-ip': 'load balancer IP',
  'node-port': 'node port',
};
