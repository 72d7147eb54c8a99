// The lessons of this package, in their order, and the names that their texts begin with.
import { readdirSync, readFileSync } from 'node:fs';
import { clusterPlan, networksOf } from '../addresses.ts';
import { packageFile } from '../package-files.ts';
import type { LabStatus } from '../status.ts';
import { type Lesson, parseLesson } from './lesson.ts';
import type { Names } from './match.ts';

export interface LessonFile {
  readonly number: number;
  /** Its path in the package. */
  readonly path: string;
}

export function lessonFiles(): readonly LessonFile[] {
  return readdirSync(packageFile('docs/lessons'))
    .flatMap((file) => {
      const number = /^(\d+)-.*\.md$/.exec(file)?.[1];
      return number ? [{ number: Number(number), path: `docs/lessons/${file}` }] : [];
    })
    .sort((a, b) => a.number - b.number);
}

export function readLesson({ path }: LessonFile): Lesson {
  return parseLesson(readFileSync(packageFile(path), 'utf8'));
}

/** The lessons were written in a lab of three nodes with kubeadm's addresses; a lab with other ones has other names for the
 *  same nodes. */
export function firstNames({ nodes, client, nodeCIDRs, podCIDRs }: LabStatus): Names {
  const written = networksOf('kubeadm', ['IPv4'], {});
  const plan = clusterPlan(written, 3);
  const networkOf = (cidr: string) => cidr.slice(0, cidr.indexOf('/'));
  return new Map([
    ...plan.nodes.map(({ ips }, i): [string, string] => [ips[0]!, (nodes[i] ?? nodes.at(-1)!).ips[0]!]),
    [plan.client.ips[0]!, client.ips[0]!],
    [networkOf(written.pods[0]!), networkOf(podCIDRs[0]!)],
    [networkOf(written.nodes[0]!), networkOf(nodeCIDRs[0]!)],
  ]);
}
