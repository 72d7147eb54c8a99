// Programs for pods that just answer: nginx's first page, and an echo for every image that the lab does not know. Both tell
// who was asked and which source address was seen.
import type { AskedPort, Listener, PodView, Program, Question, Reply } from './program.ts';

export const nginx: Program = {
  about: "nginx's first page",
  images: /(^|[/-])nginx/,
  listen: (pod, asked) =>
    tcpPorts(asked, 80).map((port) => ({
      port,
      service: { kind: 'http', answer: (question) => nginxPage(pod, question) },
    })),
};

export const echo: Program = {
  about: 'an echo: who was asked, and which source address it saw',
  images: /.*/,
  listen: (pod, asked) => [
    ...tcpPorts(asked, 8080).map(
      (port): Listener => ({ port, service: { kind: 'http', answer: (question) => echoReply(pod, question) } }),
    ),
    ...asked
      .filter(({ protocol }) => protocol === 'UDP')
      .map(({ port }): Listener => {
        const answer = (_question: Uint8Array, source: string) => Buffer.from(`${pod.name} ${source}\n`);
        return { port, service: { kind: 'udp', answer } };
      }),
  ],
};

/** Images that people run to look around, with a shell and no server. */
export const idle: Program = {
  about: 'nothing: a place to look around from',
  images: /(^|[/-])(busybox|alpine|debian|ubuntu|curl|netshoot|pause)$/,
  listen: () => [],
};

/** `fallback` where the container names no port, as many manifests do. */
function tcpPorts(asked: readonly AskedPort[], fallback: number): readonly number[] {
  const ports = asked.filter(({ protocol }) => protocol === 'TCP').map(({ port }) => port);
  return asked.length === 0 ? [fallback] : ports;
}

function nginxPage(pod: PodView, { path, source }: Question): Reply {
  if (path !== '/' && path !== '/index.html')
    return { status: 404, type: 'text/html', body: '<h1>404 Not Found</h1>\n' };
  const body = `<!doctype html>
<html>
<head><title>Welcome to nginx!</title></head>
<body>
<h1>Welcome to nginx!</h1>
<p>Served by ${pod.name} on ${pod.node}, asked from ${source}</p>
</body>
</html>
`;
  return { type: 'text/html', body };
}

/** Some paths answer with one word, for scripts. */
function echoReply(pod: PodView, { method, path, source, port, body }: Question): Reply {
  switch (path) {
    case '/hostname':
      return { body: `${pod.name}\n` };
    case '/clientip':
      return { body: `${source}\n` };
    default: {
      const said = {
        pod: pod.name,
        namespace: pod.namespace,
        node: pod.node,
        source,
        port,
        method,
        path,
        ...(body && { body }),
      };
      return { type: 'application/json', body: `${JSON.stringify(said)}\n` };
    }
  }
}
