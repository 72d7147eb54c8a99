// Every program a pod of the lab can run. In: an image. Out: the program that stands for it.
import { dns } from './dns.ts';
import type { Program } from './program.ts';
import { redis } from './redis.ts';
import { echo, idle, nginx } from './web.ts';
import { customer, database, summary } from './yaobank.ts';

/** The first whose pattern fits is taken; the last fits all. */
const PROGRAMS: readonly Program[] = [customer, summary, database, nginx, redis, dns, idle, echo];

/** `docker.io/library/nginx:1.27@sha256:…` is an nginx. */
export function programFor(image: string): Program {
  const name = image.replace(/@.*$/, '').replace(/:[^:/]*$/, '');
  return PROGRAMS.find(({ images }) => images.test(name))!;
}
