// Puts a program's listeners on a pod's addresses. Calling the result closes the ports and the connections that are open.
import type dgram from 'node:dgram';
import type net from 'node:net';
import { assertNever } from '../../lib/assert.ts';
import { familyOf, parseIp } from '../../lib/ip.ts';
import type { Network } from '../network/network.ts';
import { httpServer } from './http.ts';
import type { Listener, PodView, Service } from './program.ts';

type Close = () => void;

export async function serve(
  network: Network,
  host: string,
  pod: PodView,
  listeners: readonly Listener[],
): Promise<Close> {
  const closes: Close[] = [];
  const close = () => {
    for (const one of closes) one();
  };
  try {
    for (const { port, service } of listeners) {
      // One socket for both families, where the pod has both.
      const ip = pod.ips.some((own) => familyOf(own) === 'IPv6') ? '::' : '0.0.0.0';
      closes.push(await open(network, host, ip, port, pod, service));
    }
    return close;
  } catch (error) {
    close();
    throw error;
  }
}

async function open(
  network: Network,
  host: string,
  ip: string,
  port: number,
  pod: PodView,
  service: Service,
): Promise<Close> {
  switch (service.kind) {
    case 'http': {
      const server = httpServer(pod.name, port, service.answer, pod.log);
      const listening = await network.serve(host, ip, port, server.accept);
      return () => {
        listening.close();
        server.close();
      };
    }
    case 'tcp':
      return acceptTcp(network, host, ip, port, service.accept);
    case 'udp':
      return answerUdp(await network.listenUdp(host, ip, port), service.answer);
    default:
      return assertNever(service);
  }
}

async function acceptTcp(
  network: Network,
  host: string,
  ip: string,
  port: number,
  accept: (socket: net.Socket) => void,
): Promise<Close> {
  const open = new Set<net.Socket>();
  const listening = await network.serve(host, ip, port, (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy()); // a client may leave before it has its answer
    accept(socket);
  });
  return () => {
    listening.close();
    for (const socket of open) socket.destroy();
  };
}

function answerUdp(
  socket: dgram.Socket,
  answer: (question: Uint8Array, source: string) => Uint8Array | undefined,
): Close {
  socket.on('message', (question, from) => {
    const reply = answer(question, parseIp(from.address) ?? from.address);
    if (reply) socket.send(reply, from.port, from.address, () => {}); // a lost answer shows at the client's timeout
  });
  return () => socket.close();
}
