// A redis of five commands: PING, ECHO, GET, SET, DEL. Speaks RESP, redis' own protocol, and also takes commands as plain
// lines, as redis does.
//
//    *2\r\n $3\r\nGET\r\n $4\r\nname\r\n      a command: how many words, then each with its length
//    +OK\r\n   $5\r\nvalue\r\n   $-1\r\n   :1\r\n   -ERR …\r\n      the answers
import type net from 'node:net';
import type { Program } from './program.ts';

export const redis: Program = {
  about: 'redis: PING, ECHO, GET, SET, DEL',
  images: /(^|[/-])(redis|valkey)/,
  listen: (pod) => {
    const values = new Map<string, string>();
    const accept = (socket: net.Socket) => {
      pod.log(`connection from ${socket.remoteAddress}`);
      let pending = '';
      socket.on('data', (data: Buffer) => {
        pending += data.toString('latin1');
        for (let taken = takeCommand(pending); taken; taken = takeCommand(pending)) {
          pending = taken.rest;
          if (taken.words.length > 0) socket.write(answer(values, taken.words), 'latin1');
          if (taken.words[0]?.toUpperCase() === 'QUIT') socket.end();
        }
      });
    };
    return [{ port: 6379, service: { kind: 'tcp', accept } }];
  },
};

/** The first whole command in the text, and what follows it; undefined while it is not whole. */
export function takeCommand(text: string): { readonly words: readonly string[]; readonly rest: string } | undefined {
  const line = lineAt(text, 0);
  if (!line) return undefined;
  if (!line.text.startsWith('*')) return { words: line.text.split(' ').filter(Boolean), rest: text.slice(line.end) };
  const words: string[] = [];
  let at = line.end;
  for (let i = Number(line.text.slice(1)); i > 0; i--) {
    const head = lineAt(text, at);
    if (!head) return undefined;
    const end = head.end + Number(head.text.slice(1));
    if (text.length < end + 2) return undefined;
    words.push(text.slice(head.end, end));
    at = end + 2;
  }
  return { words, rest: text.slice(at) };
}

export function answer(values: Map<string, string>, [command = '', ...args]: readonly string[]): string {
  const [key = '', value] = args;
  switch (command.toUpperCase()) {
    case 'PING':
      return args.length === 0 ? '+PONG\r\n' : bulk(key);
    case 'ECHO':
      return bulk(key);
    case 'SET':
      if (value === undefined) return "-ERR wrong number of arguments for 'set' command\r\n";
      values.set(key, value);
      return '+OK\r\n';
    case 'GET':
      return bulk(values.get(key));
    case 'DEL':
      return `:${values.delete(key) ? 1 : 0}\r\n`;
    case 'QUIT':
      return '+OK\r\n';
    default:
      return `-ERR unknown command '${command}'\r\n`;
  }
}

function bulk(value: string | undefined): string {
  return value === undefined ? '$-1\r\n' : `$${value.length}\r\n${value}\r\n`;
}

function lineAt(text: string, from: number): { readonly text: string; readonly end: number } | undefined {
  const end = text.indexOf('\n', from);
  return end < 0 ? undefined : { text: text.slice(from, end).replace(/\r$/, ''), end: end + 1 };
}
